/* Calls: what evaluators ask of all tool calls of a run, told in one look at each.
 *
 * The twin of `_tally` in model/tally.py, for plain calls with times of 64 bits.
 */
#include "core.h"

#include <stdint.h>

#define PACE 512

typedef struct {
    PyObject_HEAD
    PyTypeObject *call_type;
    Py_ssize_t name, status, span, start_ns, end_ns, raw_arguments;
    PyObject *tally;   /* makes the answer */
    PyObject *failed;  /* a set: the statuses of calls that failed */
    PyObject *ok;      /* the status of most calls */
    PyObject *unknown; /* that of calls of which none is known */
} Calls;

static void
calls_dealloc(Calls *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->call_type);
    Py_XDECREF(self->tally);
    Py_XDECREF(self->failed);
    Py_XDECREF(self->ok);
    Py_XDECREF(self->unknown);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *
calls_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"call", "tally", "failed", "ok", "unknown", NULL};
    PyTypeObject *call;
    PyObject *tally, *failed, *ok, *unknown;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!OO!UU:Calls", names, &PyType_Type, &call, &tally,
                                     &PyFrozenSet_Type, &failed, &ok, &unknown))
        return NULL;
    Calls *self = (Calls *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->call_type = (PyTypeObject *)Py_NewRef((PyObject *)call);
    self->tally = Py_NewRef(tally);
    self->failed = Py_NewRef(failed);
    self->ok = Py_NewRef(ok);
    self->unknown = Py_NewRef(unknown);
    struct {
        const char *field;
        Py_ssize_t *at;
    } places[] = {
        {"name", &self->name},         {"status", &self->status}, {"span", &self->span},
        {"start_ns", &self->start_ns}, {"end_ns", &self->end_ns}, {"raw_arguments", &self->raw_arguments},
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        *places[i].at = slot_of(call, places[i].field);
        if (*places[i].at < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static int
is_number(PyObject *value, long long *number)
{
    return is_whole(value, number) && *number > -((long long)1 << 62) && *number < (long long)1 << 62;
}

typedef struct {
    PyObject *names, *arguments, *times, *failed, *unclear;
    PyObject *name, *spent; /* the last name and the times of calls of it, borrowed */
    int spanless;
} Tally;

/* How long a call took, to those of its tool. */
static int
add_time(Tally *tally, PyObject *name, long long ns)
{
    if (name != tally->name) {
        PyObject *spent = PyDict_GetItemWithError(tally->times, name);
        if (spent == NULL) {
            if (PyErr_Occurred() || (spent = PyList_New(0)) == NULL)
                return -1;
            int failed = PyDict_SetItem(tally->times, name, spent);
            Py_DECREF(spent);
            if (failed < 0)
                return -1;
        }
        tally->name = name;
        tally->spent = spent;
    }
    PyObject *took = PyLong_FromLongLong(ns);
    int failed = took == NULL || PyList_Append(tally->spent, took) < 0;
    Py_XDECREF(took);
    return failed ? -1 : 0;
}

/* 1: the call is in the tally; 0: it takes the twin; -1: an exception. */
static int
add_call(Calls *self, PyObject *call, Tally *tally)
{
    if (!Py_IS_TYPE(call, self->call_type))
        return 0;
    PyObject *name = slot(call, self->name), *status = slot(call, self->status);
    PyObject *arguments = slot(call, self->raw_arguments);
    long long span, start, end;
    if (name == NULL || status == NULL || arguments == NULL || !PyUnicode_CheckExact(name)
        || !PyUnicode_CheckExact(status) || !is_number(slot(call, self->span), &span)
        || !is_number(slot(call, self->start_ns), &start) || !is_number(slot(call, self->end_ns), &end))
        return 0;
    int unknown = 0;
    if (status != self->ok) {
        int failed = PySet_Contains(self->failed, status);
        if (failed < 0 || (failed && PyList_Append(tally->failed, call) < 0))
            return -1;
        unknown = !failed && PyUnicode_Compare(status, self->unknown) == 0;
        if (unknown && PyDict_SetItem(tally->unclear, name, Py_None) < 0)
            return -1;
    }
    if (PyList_Append(tally->names, name) < 0 || PyList_Append(tally->arguments, arguments) < 0)
        return -1;
    tally->spanless |= span == -1;
    if (span >= 0 && (end > start || !unknown) && add_time(tally, name, end - start) < 0)
        return -1;
    return 1;
}

static PyObject *
made(Calls *self, const Tally *tally)
{
    PyObject *name, *spent, *unclear;
    Py_ssize_t at = 0;
    while (PyDict_Next(tally->times, &at, &name, &spent))
        if (PyList_Sort(spent) < 0)
            return NULL;
    unclear = PySequence_Tuple(tally->unclear);
    if (unclear == NULL)
        return NULL;
    PyObject *args[] = {tally->names,  tally->arguments, tally->times,
                        tally->failed, unclear,          tally->spanless ? Py_True : Py_False};
    PyObject *found = PyObject_Vectorcall(self->tally, args, 6, NULL);
    Py_DECREF(unclear);
    return found;
}

/* tally(calls, pause): what is asked of them; None where it takes a closer look. `pause` is called between small pieces
 * of the work, unless it is None. */
static PyObject *
calls_tally(Calls *self, PyObject *const *given, Py_ssize_t number)
{
    if (!were_given("tally", number, 2))
        return NULL;
    PyObject *calls = given[0], *pause = given[1], *found = NULL;
    if (!PyList_CheckExact(calls))
        Py_RETURN_NONE;
    Tally tally = {PyList_New(0), PyList_New(0), PyDict_New(), PyList_New(0), PyDict_New(), NULL, NULL, 0};
    int taken = tally.names != NULL && tally.arguments != NULL && tally.times != NULL && tally.failed != NULL
                        && tally.unclear != NULL
                    ? 1
                    : -1;
    for (Py_ssize_t i = 0; taken > 0 && i < PyList_GET_SIZE(calls); i++) {
        if (pause != Py_None && i % PACE == 0) {
            PyObject *over = PyObject_CallNoArgs(pause);
            if (over == NULL || i >= PyList_GET_SIZE(calls)) {
                taken = over == NULL ? -1 : 0;
                Py_XDECREF(over);
                break;
            }
            Py_DECREF(over);
            tally.name = NULL;
        }
        PyObject *call = Py_NewRef(PyList_GET_ITEM(calls, i));
        taken = add_call(self, call, &tally);
        Py_DECREF(call);
    }
    if (taken > 0)
        found = made(self, &tally);
    else if (taken == 0)
        found = Py_NewRef(Py_None);
    Py_XDECREF(tally.names);
    Py_XDECREF(tally.arguments);
    Py_XDECREF(tally.times);
    Py_XDECREF(tally.failed);
    Py_XDECREF(tally.unclear);
    return found;
}

static PyMethodDef methods[] = {
    {"tally", ON_THE_STACK(calls_tally), "What is asked of all calls."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, calls_new},
    {Py_tp_dealloc, calls_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Tells what evaluators ask of tool calls."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "spanwise.native._core.Calls",
    .basicsize = sizeof(Calls),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int
add_calls(PyObject *module)
{
    return add_type(module, &spec);
}
