/* Reader: a record made from the attributes of a span, each of its fields from the first attribute that tells it.
 *
 * The twin of the reader in conventions/_fields.py, for attributes that are a plain dict.
 */
#include "core.h"
#include <math.h>

enum { ANY, TEXT, COUNT, AMOUNT, FIXED, CONVERTED, MARKED };

typedef struct {
    int sort;
    PyObject *keys;    /* a tuple of names, the best first */
    PyObject *convert; /* reads a value of an unusual type; of a fixed field its value, of a mark its values */
} Field;

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *record;
    PyObject *twin; /* reads attributes that are no dict */
    Field *fields;
    Py_ssize_t count;
} Reader;

#define MOST 16

static void
reader_dealloc(Reader *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Py_XDECREF(self->fields[i].keys);
        Py_XDECREF(self->fields[i].convert);
    }
    PyMem_Free(self->fields);
    Py_XDECREF(self->record);
    Py_XDECREF(self->twin);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* The value of a field as it stands in an attribute: a new reference, or NULL, with or without an exception. */
static PyObject *
told(const Field *field, PyObject *value)
{
    switch (field->sort) {
    case ANY:
        return Py_NewRef(value);
    case TEXT:
        if (PyUnicode_CheckExact(value))
            return PyUnicode_GET_LENGTH(value) ? Py_NewRef(value) : NULL;
        break;
    case COUNT:
        if (PyLong_CheckExact(value)) {
            int overflow;
            long number = PyLong_AsLongAndOverflow(value, &overflow);
            return overflow > 0 || (!overflow && number >= 0) ? Py_NewRef(value) : NULL;
        }
        break;
    case AMOUNT:
        if (PyFloat_CheckExact(value)) {
            double number = PyFloat_AS_DOUBLE(value);
            return isfinite(number) && number >= 0.0 ? Py_NewRef(value) : NULL;
        }
        break;
    }
    PyObject *found = PyObject_CallOneArg(field->convert, value);
    if (found == Py_None)
        Py_CLEAR(found);
    return found;
}

/* Whether an attribute has one of the field's values: a new reference; NULL with an exception set. */
static PyObject *
marked(const Field *field, PyObject *attributes)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(field->keys); i++) {
        PyObject *value = PyDict_GetItemWithError(attributes, PyTuple_GET_ITEM(field->keys, i));
        int found = 0;
        if (value != NULL && (PyUnicode_CheckExact(value) || PyBool_Check(value)))
            found = PySet_Contains(field->convert, value);
        if (found < 0 || PyErr_Occurred())
            return NULL;
        if (found)
            return Py_NewRef(Py_True);
    }
    return Py_NewRef(Py_False);
}

/* The value of a field: a new reference; NULL with an exception set. */
static PyObject *
first_told(const Field *field, PyObject *attributes)
{
    if (field->sort == FIXED)
        return Py_NewRef(field->convert);
    if (field->sort == MARKED)
        return marked(field, attributes);
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(field->keys); i++) {
        PyObject *value = PyDict_GetItemWithError(attributes, PyTuple_GET_ITEM(field->keys, i));
        if (value != NULL && value != Py_None) {
            Py_INCREF(value);
            PyObject *found = told(field, value);
            Py_DECREF(value);
            if (found != NULL)
                return found;
        }
        if (PyErr_Occurred())
            return NULL;
    }
    return Py_NewRef(Py_None);
}

static PyObject *
reader_call(PyObject *callable, PyObject *const *args, size_t nargsf, PyObject *names)
{
    Reader *self = (Reader *)callable;
    if (PyVectorcall_NARGS(nargsf) != 1 || (names != NULL && PyTuple_GET_SIZE(names))) {
        PyErr_SetString(PyExc_TypeError, "a reader takes the attributes of a span");
        return NULL;
    }
    PyObject *attributes = args[0];
    if (!PyDict_CheckExact(attributes))
        return PyObject_CallOneArg(self->twin, attributes);
    PyObject *values[MOST], *record = NULL;
    Py_ssize_t made = 0;
    for (; made < self->count; made++) {
        values[made] = first_told(&self->fields[made], attributes);
        if (values[made] == NULL)
            goto done;
    }
    record = PyObject_Vectorcall(self->record, values, made, NULL);
done:
    for (Py_ssize_t i = 0; i < made; i++)
        Py_DECREF(values[i]);
    return record;
}

/* Reader(record, fields, twin); a field is (sort, keys, convert). */
static PyObject *
reader_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"record", "fields", "twin", NULL};
    PyObject *record, *fields, *twin;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "OO!O:Reader", names, &record, &PyTuple_Type, &fields, &twin))
        return NULL;
    Py_ssize_t count = PyTuple_GET_SIZE(fields);
    if (count > MOST)
        return PyErr_Format(PyExc_ValueError, "a record of %zd fields, at most %d are read", count, MOST);
    Reader *self = (Reader *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->call = reader_call;
    self->record = Py_NewRef(record);
    self->twin = Py_NewRef(twin);
    self->fields = PyMem_Calloc(count ? count : 1, sizeof(Field));
    if (self->fields == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    for (; self->count < count; self->count++) {
        Field *field = &self->fields[self->count];
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(fields, self->count), "iO!O:field", &field->sort, &PyTuple_Type,
                              &field->keys, &field->convert) ||
            field->sort < ANY || field->sort > MARKED) {
            if (!PyErr_Occurred())
                PyErr_SetString(PyExc_ValueError, "a field of an unknown sort");
            Py_DECREF(self);
            return NULL;
        }
        Py_INCREF(field->keys);
        Py_INCREF(field->convert);
        if (field->sort == MARKED && !PyFrozenSet_CheckExact(field->convert)) {
            self->count++;
            Py_DECREF(self);
            PyErr_SetString(PyExc_TypeError, "a mark's values are a frozenset");
            return NULL;
        }
    }
    return (PyObject *)self;
}

static PyMemberDef reader_members[] = {
    {"__vectorcalloffset__", Py_T_PYSSIZET, offsetof(Reader, call), Py_READONLY, NULL},
    {NULL, 0, 0, 0, NULL},
};

static PyType_Slot reader_slots[] = {
    {Py_tp_new, reader_new},
    {Py_tp_dealloc, reader_dealloc},
    {Py_tp_call, PyVectorcall_Call},
    {Py_tp_members, reader_members},
    {Py_tp_doc, "Reads a record from the attributes of a span."},
    {0, NULL},
};

static PyType_Spec reader_spec = {
    .name = "spanwise.native._core.Reader",
    .basicsize = sizeof(Reader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_HAVE_VECTORCALL,
    .slots = reader_slots,
};

/* below(attributes, prefix): the names that begin with the prefix, in their order. */
static PyObject *
below(PyObject *module, PyObject *const *args, Py_ssize_t count)
{
    (void)module;
    if (count != 2 || !PyDict_CheckExact(args[0]) || !PyUnicode_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "below takes a dict and a prefix");
        return NULL;
    }
    PyObject *name, *value, *found = PyList_New(0);
    Py_ssize_t at = 0, length = PyUnicode_GET_LENGTH(args[1]);
    while (found != NULL && PyDict_Next(args[0], &at, &name, &value)) {
        if (PyUnicode_CheckExact(name) && PyUnicode_GET_LENGTH(name) >= length) {
            Py_ssize_t matches = PyUnicode_Tailmatch(name, args[1], 0, length, -1);
            if (matches < 0 || (matches && PyList_Append(found, name) < 0))
                Py_CLEAR(found);
        }
    }
    return found;
}

static PyMethodDef functions[] = {
    {"below", (PyCFunction)(void (*)(void))below, METH_FASTCALL, "The names that begin with a prefix."},
    {NULL, NULL, 0, NULL},
};

int
add_fields(PyObject *module)
{
    if (PyModule_AddFunctions(module, functions) < 0)
        return -1;
    return add_type(module, &reader_spec);
}
