/* Recorder: records of spans out of what a hook took from the SDK's. Rows: many records of one trace, held at once.
 *
 * The twins of `_record` in capture/records.py and of `_row` in assembly/rows.py, for what is ordinary: the rest is
 * made by the one, and left to the caller by the other.
 */
#include "core.h"

#define PARTS 11

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *raw, *slow, *scope_of;
    PyObject *in_places; /* the class of contexts that are tuples of both ids and whether they are remote, or None */
    PyObject *unset, *ok, *internal;
    PyObject *empty, *nothing; /* no text, no events */
    PyObject *zero, *one, *two;
    PyObject *trace_id, *span_id, *is_remote, *status_code, *description, *value;
    PyObject *last; /* a scope and a resource, the last, and what was made of them: a tuple */
} Recorder;

static void
recorder_dealloc(Recorder *self)
{
    PyTypeObject *type = Py_TYPE(self);
    PyObject *held[] = {self->in_places, self->trace_id,
                        self->raw,  self->slow,    self->scope_of,  self->unset,       self->ok,          self->internal,
                        self->empty, self->nothing, self->zero,      self->one,         self->two,         self->span_id,
                        self->is_remote, self->status_code, self->description, self->value, self->last};
    for (size_t i = 0; i < sizeof(held) / sizeof(*held); i++)
        Py_XDECREF(held[i]);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* The record's scope, a new reference: None for what is not recorded; NULL with an exception set. */
static PyObject *
scope_of(Recorder *self, PyObject *scope, PyObject *resource)
{
    PyObject *last = self->last;
    if (last != NULL && PyTuple_GET_ITEM(last, 0) == scope && PyTuple_GET_ITEM(last, 1) == resource)
        return Py_NewRef(PyTuple_GET_ITEM(last, 2));
    PyObject *args[] = {scope, resource}, *made = PyObject_Vectorcall(self->scope_of, args, 2, NULL);
    PyObject *now = made == NULL ? NULL : PyTuple_Pack(3, scope, resource, made);
    if (now == NULL)
        Py_CLEAR(made);
    else
        Py_XSETREF(self->last, now); /* holds the two, so that nothing else comes to stand at their addresses */
    return made;
}

/* What a status says: two new references; -1 with an exception set. */
static int
read_status(Recorder *self, PyObject *status, PyObject **code, PyObject **message)
{
    PyObject *said = PyObject_GetAttr(status, self->status_code);
    if (said == NULL)
        return -1;
    *message = Py_NewRef(self->empty);
    *code = Py_NewRef(said == self->unset ? self->zero : said == self->ok ? self->one : self->two);
    int silent = said == self->unset;
    Py_DECREF(said);
    if (silent)
        return 0;
    PyObject *told = PyObject_GetAttr(status, self->description);
    int filled = told == NULL ? -1 : PyObject_IsTrue(told);
    if (filled > 0)
        Py_SETREF(*message, Py_NewRef(told));
    Py_XDECREF(told);
    if (filled < 0) {
        Py_CLEAR(*code);
        Py_CLEAR(*message);
    }
    return filled < 0 ? -1 : 0;
}

/* The protocol's number of a kind: a new reference. */
static PyObject *
kind_of(Recorder *self, PyObject *kind)
{
    if (kind == self->internal)
        return Py_NewRef(self->one);
    PyObject *value = PyObject_GetAttr(kind, self->value), *number = NULL;
    if (value != NULL)
        number = PyNumber_Add(value, self->one); /* the API counts from 0, the protocol from 1 */
    Py_XDECREF(value);
    return number;
}

/* The part of a context that is at a place and has a name: a new reference. */
static PyObject *
of_context(Recorder *self, PyObject *context, Py_ssize_t place, PyObject *name)
{
    if (Py_TYPE(context) == (PyTypeObject *)self->in_places && PyTuple_GET_SIZE(context) > place)
        return Py_NewRef(PyTuple_GET_ITEM(context, place));
    return PyObject_GetAttr(context, name);
}

static PyObject *
record(Recorder *self, PyObject *parts, PyObject *scope)
{
    PyObject **part = &PyTuple_GET_ITEM(parts, 0), *context = part[0], *parent = part[1], *trace_id, *span_id;
    PyObject *parent_id = NULL, *remote = NULL, *code = NULL, *message = NULL, *kind = NULL, *made = NULL;
    trace_id = of_context(self, context, 0, self->trace_id);
    span_id = trace_id == NULL ? NULL : of_context(self, context, 1, self->span_id);
    if (span_id == NULL)
        goto done;
    parent_id = parent == Py_None ? Py_NewRef(Py_None) : of_context(self, parent, 1, self->span_id);
    if (parent_id == NULL)
        goto done;
    remote = parent == Py_None ? Py_NewRef(Py_False) : of_context(self, parent, 2, self->is_remote);
    if (remote == NULL || read_status(self, part[5], &code, &message) < 0)
        goto done;
    kind = kind_of(self, part[8]);
    if (kind == NULL)
        goto done;
    PyObject *start = part[3] == Py_None ? self->zero : part[3], *end = part[4] == Py_None ? self->zero : part[4];
    PyObject *args[] = {trace_id, span_id, parent_id,     part[2], start,         end,  code,
                        message,  part[6], self->nothing, scope,   self->nothing, kind, remote};
    made = PyObject_Vectorcall(self->raw, args, 14, NULL);
done:
    Py_XDECREF(trace_id);
    Py_XDECREF(span_id);
    Py_XDECREF(parent_id);
    Py_XDECREF(remote);
    Py_XDECREF(code);
    Py_XDECREF(message);
    Py_XDECREF(kind);
    return made;
}

static PyObject *
recorder_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Recorder *self = (Recorder *)callable;
    if (PyVectorcall_NARGS(nargsf) != 1 || (names != NULL && PyTuple_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a recorder takes what was captured");
        return NULL;
    }
    PyObject *parts = args[0];
    if (!PyTuple_CheckExact(parts) || PyTuple_GET_SIZE(parts) != PARTS
        || !PyTuple_CheckExact(PyTuple_GET_ITEM(parts, 7)) || PyTuple_GET_SIZE(PyTuple_GET_ITEM(parts, 7)))
        return PyObject_CallOneArg(self->slow, parts);
    PyObject *scope = scope_of(self, PyTuple_GET_ITEM(parts, 9), PyTuple_GET_ITEM(parts, 10));
    if (scope == NULL || scope == Py_None)
        return scope;
    PyObject *made = record(self, parts, scope);
    Py_DECREF(scope);
    return made;
}

/* Recorder(raw, slow, scope_of, (unset, ok, internal), in_places). */
static PyObject *
recorder_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "", "", "", "", NULL};
    PyObject *raw, *slow, *scopes, *unset, *ok, *internal, *in_places;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OOO(OOO)O:Recorder", names, &raw, &slow, &scopes, &unset, &ok,
                                     &internal, &in_places))
        return NULL;
    if (in_places != Py_None &&
        !(PyType_Check(in_places) && PyType_IsSubtype((PyTypeObject *)in_places, &PyTuple_Type))) {
        PyErr_SetString(PyExc_TypeError, "what has places is a class of tuples");
        return NULL;
    }
    Recorder *self = (Recorder *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->call = recorder_call;
    self->in_places = Py_NewRef(in_places);
    self->raw = Py_NewRef(raw);
    self->slow = Py_NewRef(slow);
    self->scope_of = Py_NewRef(scopes);
    self->unset = Py_NewRef(unset);
    self->ok = Py_NewRef(ok);
    self->internal = Py_NewRef(internal);
    self->empty = PyUnicode_FromString("");
    self->nothing = PyTuple_New(0);
    self->zero = PyLong_FromLong(0);
    self->one = PyLong_FromLong(1);
    self->two = PyLong_FromLong(2);
    self->trace_id = PyUnicode_InternFromString("trace_id");
    self->span_id = PyUnicode_InternFromString("span_id");
    self->is_remote = PyUnicode_InternFromString("is_remote");
    self->status_code = PyUnicode_InternFromString("status_code");
    self->description = PyUnicode_InternFromString("description");
    self->value = PyUnicode_InternFromString("value");
    if (PyErr_Occurred()) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMemberDef recorder_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Recorder, call), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot recorder_slots[] = {
    {Py_tp_new, recorder_new},
    {Py_tp_dealloc, recorder_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, recorder_members},
    {Py_tp_doc, "Makes records of what hooks captured."},
    {0, NULL},
};

static PyType_Spec recorder_spec = {
    .name = "spanwise.native._core.Recorder",
    .basicsize = sizeof(Recorder),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = recorder_slots,
};

/* Where the records of one type hold what is asked of them here. */
typedef struct {
    PyTypeObject *type;
    Py_ssize_t trace_id, span_id, parent_id, remote;
} Layout;

typedef struct {
    PyObject_HEAD
    Layout raw, packed;
    Py_ssize_t name, attributes, events; /* of raw ones */
    PyObject *size_of;                   /* weighs what takes a closer look */
    Py_ssize_t record, value;            /* what a record takes beside its text, and each attribute */
} Rows;

static void
rows_dealloc(Rows *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->raw.type);
    Py_XDECREF(self->packed.type);
    Py_XDECREF(self->size_of);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int
lay_out(Layout *layout, PyTypeObject *type)
{
    layout->type = (PyTypeObject *)Py_NewRef((PyObject *)type);
    return (layout->trace_id = slot_of(type, "trace_id")) < 0 || (layout->span_id = slot_of(type, "span_id")) < 0
           || (layout->parent_id = slot_of(type, "parent_id")) < 0
           || (layout->remote = slot_of(type, "parent_remote")) < 0;
}

/* About how many bytes a record holds; -1 with an exception set. */
static Py_ssize_t
size_of(Rows *self, PyObject *record)
{
    if (Py_IS_TYPE(record, self->raw.type)) {
        PyObject *name = slot(record, self->name), *attributes = slot(record, self->attributes);
        PyObject *events = slot(record, self->events);
        if (name != NULL && PyUnicode_CheckExact(name) && attributes != NULL && events != NULL
            && PyTuple_CheckExact(events) && !PyTuple_GET_SIZE(events)) {
            Py_ssize_t text = text_of(attributes);
            if (text >= 0)
                return self->record + PyUnicode_GET_LENGTH(name) + self->value * PyDict_GET_SIZE(attributes) + text;
        }
    }
    PyObject *size = PyObject_CallOneArg(self->size_of, record);
    Py_ssize_t weighed = size == NULL ? -1 : PyLong_AsSsize_t(size);
    Py_XDECREF(size);
    return weighed < 0 && !PyErr_Occurred() ? 0 : weighed;
}

/* The id of an ordinary span of this trace, not its root, borrowed; NULL, with or without an exception. */
static PyObject *
joins(Rows *self, PyObject *record, PyObject *key)
{
    const Layout *at = Py_IS_TYPE(record, self->raw.type)      ? &self->raw
                       : Py_IS_TYPE(record, self->packed.type) ? &self->packed
                                                               : NULL;
    if (at == NULL)
        return NULL;
    PyObject *own = slot(record, at->trace_id), *parent = slot(record, at->parent_id);
    if (own == NULL || parent == NULL || parent == Py_None || slot(record, at->remote) != Py_False)
        return NULL;
    return PyObject_RichCompareBool(own, key, Py_EQ) > 0 ? slot(record, at->span_id) : NULL;
}

/* Puts a record into `spans`, if it is an ordinary one of this trace that is not there, and fits: 1, else 0; -1 with an
 * exception set. `total` has its size added, where sizes count. */
static int
take(Rows *self, PyObject *record, PyObject *key, PyObject *spans, Py_ssize_t most_bytes, Py_ssize_t *total)
{
    PyObject *span_id = joins(self, record, key);
    if (span_id == NULL)
        return PyErr_Occurred() ? -1 : 0;
    Py_ssize_t size = 0;
    if (most_bytes >= 0 && ((size = size_of(self, record)) < 0 || size > most_bytes - *total))
        return size < 0 ? -1 : 0;
    Py_INCREF(span_id);
    int known = PyDict_Contains(spans, span_id), failed = known;
    if (!known)
        failed = PyDict_SetItem(spans, span_id, record);
    Py_DECREF(span_id);
    if (failed < 0)
        return -1;
    if (!known)
        *total += size;
    return !known;
}

/* hold(records, at, key, spans, (most, most_bytes)): how many of the records from there on it put into `spans`, and how
 * many bytes they hold (0 where `most_bytes` is below 0). It ends before the first that takes a closer look. */
static PyObject *
rows_hold(Rows *self, PyObject *args)
{
    PyObject *records, *key, *spans;
    Py_ssize_t at, most, most_bytes, total = 0, count = 0;
    if (!PyArg_ParseTuple(args, "O!nOO!(nn):hold", &PyList_Type, &records, &at, &key, &PyDict_Type, &spans,
                          &most, &most_bytes))
        return NULL;
    for (int taken = 1; taken && count < most && at >= 0 && at + count < PyList_GET_SIZE(records); count += taken) {
        PyObject *record = Py_NewRef(PyList_GET_ITEM(records, at + count));
        taken = take(self, record, key, spans, most_bytes, &total);
        Py_DECREF(record);
        if (taken < 0)
            return NULL;
    }
    return Py_BuildValue("nn", count, total);
}

/* Rows(raw, packed, size_of, record, value). */
static PyObject *
rows_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"", "", "", "", "", NULL};
    PyTypeObject *raw, *packed;
    PyObject *weigh;
    Py_ssize_t record_takes, value_takes;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!Onn:Rows", names, &PyType_Type, &raw, &PyType_Type, &packed,
                                     &weigh, &record_takes, &value_takes))
        return NULL;
    Rows *self = (Rows *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->size_of = Py_NewRef(weigh);
    self->record = record_takes;
    self->value = value_takes;
    if (lay_out(&self->raw, raw) || lay_out(&self->packed, packed) || (self->name = slot_of(raw, "name")) < 0
        || (self->attributes = slot_of(raw, "attributes")) < 0 || (self->events = slot_of(raw, "events")) < 0) {
        Py_DECREF(self);
        return NULL;
    }
    return (PyObject *)self;
}

static PyMethodDef rows_methods[] = {
    {"hold", (PyCFunction)rows_hold, METH_VARARGS, "Holds the ordinary ones of the next records of a trace."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot rows_slots[] = {
    {Py_tp_new, rows_new},
    {Py_tp_dealloc, rows_dealloc},
    {Py_tp_methods, rows_methods},
    {Py_tp_doc, "Holds many records of one trace at once."},
    {0, NULL},
};

static PyType_Spec rows_spec = {
    .name = "spanwise.native._core.Rows",
    .basicsize = sizeof(Rows),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = rows_slots,
};

int
add_records(PyObject *module)
{
    return add_type(module, &recorder_spec) < 0 || add_type(module, &rows_spec) < 0 ? -1 : 0;
}
