/* Reader: a record made from the attributes of a span, each of its fields from the first attribute that tells it.
 *
 * The twin of the reader in conventions/_fields.py, for attributes that are a plain dict or are read late.
 */
#include "fields.h"
#include "late.h"
#include <math.h>

enum { ANY, TEXT, COUNT, AMOUNT, FIXED, CONVERTED, MARKED, LOWERED };

typedef struct {
    PyObject_HEAD
    vectorcallfunc call;
    PyObject *record;
    PyObject *twin; /* reads attributes of any other kind */
    Fields fields;
} Reader;

static void
reader_dealloc(Reader *self)
{
    PyTypeObject *type = Py_TYPE(self);
    fields_clear(&self->fields);
    Py_XDECREF(self->record);
    Py_XDECREF(self->twin);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* Whether a text is not empty, and small letters of ASCII are the only ones in it. */
static int
is_small(PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    for (Py_ssize_t i = 0; i < size; i++) {
        Py_UCS4 code = PyUnicode_READ_CHAR(text, i);
        if (code > 127 || (code >= 'A' && code <= 'Z'))
            return 0;
    }
    return size > 0;
}

/* The whole number that a few digits are: a new reference; NULL, with or without an exception, for any other text. */
static PyObject *
number_in(PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    if (!PyUnicode_IS_ASCII(text) || size < 1 || size > 15) /* all of them are floats, too, as the twin reads them */
        return NULL;
    const Py_UCS1 *at = PyUnicode_1BYTE_DATA(text);
    long long number = 0;
    for (; size; at++, size--) {
        if (*at < '0' || *at > '9')
            return NULL;
        number = number * 10 + (*at - '0');
    }
    return PyLong_FromLongLong(number);
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
    case LOWERED:
        if (PyUnicode_CheckExact(value) && is_small(value))
            return Py_NewRef(value);
        break;
    case COUNT:
        if (PyLong_CheckExact(value)) {
            int overflow;
            long number = PyLong_AsLongAndOverflow(value, &overflow);
            return overflow > 0 || (!overflow && number >= 0) ? Py_NewRef(value) : NULL;
        }
        if (PyUnicode_CheckExact(value)) {
            PyObject *number = number_in(value);
            if (number != NULL || PyErr_Occurred())
                return number;
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
        PyObject *value = attribute_of(attributes, PyTuple_GET_ITEM(field->keys, i));
        int found = 0;
        if (value != NULL && (PyUnicode_CheckExact(value) || PyBool_Check(value)))
            found = PySet_Contains(field->convert, value);
        Py_XDECREF(value);
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
        PyObject *value = attribute_of(attributes, PyTuple_GET_ITEM(field->keys, i)), *found = NULL;
        if (value != NULL && value != Py_None)
            found = told(field, value);
        Py_XDECREF(value);
        if (found != NULL)
            return found;
        if (PyErr_Occurred())
            return NULL;
    }
    return Py_NewRef(Py_None);
}

int
fields_read(const Fields *self, PyObject *attributes, PyObject **values)
{
    for (Py_ssize_t made = 0; made < self->count; made++) {
        values[made] = first_told(&self->fields[made], attributes);
        if (values[made] == NULL) {
            while (made--)
                Py_DECREF(values[made]);
            return -1;
        }
    }
    return 0;
}

void
fields_clear(Fields *self)
{
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Py_XDECREF(self->fields[i].keys);
        Py_XDECREF(self->fields[i].convert);
    }
    PyMem_Free(self->fields);
    *self = (Fields){0};
}

int
fields_take(Fields *self, PyObject *fields)
{
    Py_ssize_t count = PyTuple_GET_SIZE(fields);
    if (count > MOST_FIELDS) {
        PyErr_Format(PyExc_ValueError, "a record of %zd fields, at most %d are read", count, MOST_FIELDS);
        return -1;
    }
    self->fields = PyMem_Calloc(count ? count : 1, sizeof(Field));
    if (self->fields == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        Field field = {0};
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(fields, i), "iO!O:field", &field.sort, &PyTuple_Type, &field.keys,
                              &field.convert))
            return -1;
        if (field.sort < ANY || field.sort > LOWERED) {
            PyErr_SetString(PyExc_ValueError, "a field of an unknown sort");
            return -1;
        }
        if (field.sort == MARKED && !PyFrozenSet_CheckExact(field.convert)) {
            PyErr_SetString(PyExc_TypeError, "a mark's values are a frozenset");
            return -1;
        }
        Py_INCREF(field.keys);
        Py_INCREF(field.convert);
        self->fields[self->count++] = field;
    }
    return 0;
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
    if (held_by(attributes) == NULL)
        return PyObject_CallOneArg(self->twin, attributes);
    PyObject *values[MOST_FIELDS];
    if (fields_read(&self->fields, attributes, values) < 0)
        return NULL;
    PyObject *record = PyObject_Vectorcall(self->record, values, self->fields.count, NULL);
    for (Py_ssize_t i = 0; i < self->fields.count; i++)
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
    Reader *self = (Reader *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->call = reader_call;
    self->record = Py_NewRef(record);
    self->twin = Py_NewRef(twin);
    if (fields_take(&self->fields, fields) < 0) {
        Py_DECREF(self);
        return NULL;
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
    PyObject *held = count == 2 ? held_by(args[0]) : NULL;
    if (held == NULL || !PyUnicode_CheckExact(args[1])) {
        PyErr_SetString(PyExc_TypeError, "below takes attributes and a prefix");
        return NULL;
    }
    PyObject *name, *value, *found = PyList_New(0);
    Py_ssize_t at = 0, length = PyUnicode_GET_LENGTH(args[1]);
    while (found != NULL && PyDict_Next(held, &at, &name, &value)) {
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
