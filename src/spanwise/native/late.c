/* Late: the attributes of a span, of which a long value stays as it is written until it is first read.
 *
 * The twin of LazyAttributes in sources/trail.py. What stays is a Piece, which never leaves this file's mapping but as
 * the value that it stands for. Conversations repeat themselves, so a piece may begin as another does, and then holds
 * only what comes behind that.
 */
#include "late.h"

/* So many pieces may stand one before the other; freeing the last of them may free them all. */
#define LONGEST_ROW 64

struct Piece {
    PyObject_VAR_HEAD
    Piece *before;
    Py_ssize_t shared;
    PyObject *text; /* the value, where it is text that was read; NULL until then */
    int row;
    char bytes[];
};

typedef struct {
    PyObject_HEAD
    PyObject *held; /* a dict */
    PyObject *read; /* gives the value for the bytes of a piece */
} Late;

static void
piece_dealloc(Piece *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->before);
    Py_XDECREF(self->text);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static inline int
is_piece(PyObject *value)
{
    return Py_TYPE(value)->tp_dealloc == (destructor)piece_dealloc;
}

PyObject *
late_piece(PyTypeObject *type, Piece *before, Py_ssize_t shared, const unsigned char *bytes, Py_ssize_t size)
{
    while (before != NULL && before->before != NULL && shared <= before->shared)
        before = before->before;
    if (before != NULL && before->row + 1 >= LONGEST_ROW)
        before = NULL;
    if (before == NULL) { /* then all of it is held here */
        bytes -= shared;
        size += shared;
        shared = 0;
    }
    Piece *made = PyObject_NewVar(Piece, type, size);
    if (made == NULL)
        return NULL;
    made->before = (Piece *)Py_XNewRef((PyObject *)before);
    made->shared = shared;
    made->text = NULL;
    made->row = before == NULL ? 0 : before->row + 1;
    memcpy(made->bytes, bytes, size);
    return (PyObject *)made;
}

/* All the bytes of a piece. */
static PyObject *
written(const Piece *piece)
{
    Py_ssize_t end = piece->shared + Py_SIZE(piece);
    PyObject *found = PyBytes_FromStringAndSize(NULL, end);
    for (; found != NULL && piece != NULL; piece = piece->before)
        if (end > piece->shared) {
            memcpy(PyBytes_AS_STRING(found) + piece->shared, piece->bytes, end - piece->shared);
            end = piece->shared;
        }
    return found;
}

/* The value that a piece stands for: a new reference. Text is decoded once for all spans that hold it. */
static PyObject *
value_of(Piece *piece, PyObject *read)
{
    if (piece->text != NULL)
        return Py_NewRef(piece->text);
    PyObject *bytes = written(piece);
    PyObject *value = bytes == NULL ? NULL : PyObject_CallOneArg(read, bytes);
    Py_XDECREF(bytes);
    if (value != NULL && PyUnicode_CheckExact(value) && piece->text == NULL)
        piece->text = Py_NewRef(value);
    return value;
}

static PyObject *
late_value(Late *self, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(self->held, name);
    if (found == NULL || !is_piece(found))
        return Py_XNewRef(found);
    Py_INCREF(found);
    PyObject *value = value_of((Piece *)found, self->read);
    Py_DECREF(found);
    if (value != NULL && PyDict_SetItem(self->held, name, value) < 0)
        Py_CLEAR(value);
    return value;
}

static void
late_dealloc(Late *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->held);
    Py_XDECREF(self->read);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static inline int
is_late(PyObject *attributes)
{
    return Py_TYPE(attributes)->tp_dealloc == (destructor)late_dealloc;
}

PyObject *
late_attributes(PyTypeObject *type, PyObject *held, PyObject *read)
{
    Late *made = PyObject_New(Late, type);
    if (made != NULL) {
        made->held = Py_NewRef(held);
        made->read = Py_NewRef(read);
    }
    return (PyObject *)made;
}

PyObject *
held_by(PyObject *attributes)
{
    if (PyDict_CheckExact(attributes))
        return attributes;
    return is_late(attributes) ? ((Late *)attributes)->held : NULL;
}

PyObject *
attribute_of(PyObject *attributes, PyObject *name)
{
    if (PyDict_CheckExact(attributes))
        return Py_XNewRef(PyDict_GetItemWithError(attributes, name));
    return late_value((Late *)attributes, name);
}

static PyObject *
late_item(Late *self, PyObject *name)
{
    PyObject *found = late_value(self, name);
    if (found == NULL && !PyErr_Occurred())
        PyErr_SetObject(PyExc_KeyError, name);
    return found;
}

static PyObject *
late_get(Late *self, PyObject *const *args, Py_ssize_t count)
{
    if (count < 1 || count > 2)
        return PyErr_Format(PyExc_TypeError, "get takes a name and what to give where it is not there");
    PyObject *found = late_value(self, args[0]);
    if (found == NULL && !PyErr_Occurred())
        found = Py_NewRef(count == 2 ? args[1] : Py_None);
    return found;
}

/* is_text(name): whether the value is text, which is told without decoding it. */
static PyObject *
late_is_text(Late *self, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(self->held, name);
    if (found == NULL && PyErr_Occurred())
        return NULL;
    const Piece *piece = found != NULL && is_piece(found) ? (const Piece *)found : NULL;
    while (piece != NULL && piece->shared)
        piece = piece->before;
    return PyBool_FromLong(piece != NULL ? piece->bytes[0] == '"' : found != NULL && PyUnicode_Check(found));
}

/* Whether one of some words, each of which begins with a quote, may stand in text that is written as JSON. Where a
 * letter is written as an escape, it may. */
static int
may_stand_in(PyObject *bytes, PyObject *words)
{
    const char *at = PyBytes_AS_STRING(bytes), *end = at + PyBytes_GET_SIZE(bytes);
    while ((at = memchr(at, '\\', end - at)) != NULL && end - at > 6) {
        if (at[1] == 'u' && at[2] == '0' && at[3] == '0' && at[4] >= '2' && at[4] <= '7')
            return 1;
        for (Py_ssize_t word = 0; at[1] == '"' && word < PyTuple_GET_SIZE(words); word++) {
            PyObject *wanted = PyTuple_GET_ITEM(words, word); /* its last quote is written as two bytes */
            Py_ssize_t size = PyUnicode_GET_LENGTH(wanted) - 1;
            if (end - at > size && !memcmp(at + 1, PyUnicode_1BYTE_DATA(wanted), size))
                return 1;
        }
        at += 2;
    }
    return 0;
}

/* may_hold(name, words): False where it is sure, without decoding it, that a text holds none of some words in quotes. */
static PyObject *
late_may_hold(Late *self, PyObject *const *args, Py_ssize_t count)
{
    if (count != 2 || !PyTuple_CheckExact(args[1]))
        return PyErr_Format(PyExc_TypeError, "may_hold takes a name and a tuple of words");
    for (Py_ssize_t word = 0; word < PyTuple_GET_SIZE(args[1]); word++) {
        PyObject *wanted = PyTuple_GET_ITEM(args[1], word);
        if (!PyUnicode_CheckExact(wanted) || !PyUnicode_IS_ASCII(wanted) || PyUnicode_GET_LENGTH(wanted) < 2)
            return PyErr_Format(PyExc_TypeError, "a word is text in quotes");
    }
    PyObject *found = PyDict_GetItemWithError(self->held, args[0]);
    if (found == NULL || !is_piece(found))
        return found == NULL && PyErr_Occurred() ? NULL : PyBool_FromLong(found != NULL);
    PyObject *bytes = written((const Piece *)found);
    if (bytes == NULL)
        return NULL;
    PyObject *told = PyBool_FromLong(*PyBytes_AS_STRING(bytes) != '"' || may_stand_in(bytes, args[1]));
    Py_DECREF(bytes);
    return told;
}

/* The dict with all values read, borrowed; NULL with an exception. */
static PyObject *
all_of(Late *self)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    while (PyDict_Next(self->held, &at, &name, &value))
        if (is_piece(value)) { /* no name comes or goes meanwhile, so going on is sound */
            Py_INCREF(name);
            PyObject *read = late_value(self, name);
            Py_DECREF(name);
            if (read == NULL)
                return NULL;
            Py_DECREF(read);
        }
    return self->held;
}

static PyObject *
late_keys(Late *self, PyObject *ignored)
{
    (void)ignored;
    return PyObject_CallMethod(self->held, "keys", NULL);
}

static PyObject *
late_values(Late *self, PyObject *ignored)
{
    (void)ignored;
    return all_of(self) == NULL ? NULL : PyObject_CallMethod(self->held, "values", NULL);
}

static PyObject *
late_items(Late *self, PyObject *ignored)
{
    (void)ignored;
    return all_of(self) == NULL ? NULL : PyObject_CallMethod(self->held, "items", NULL);
}

/* What travels is a plain dict of what the attributes say. */
static PyObject *
late_reduce(Late *self, PyObject *ignored)
{
    (void)ignored;
    return all_of(self) == NULL ? NULL : Py_BuildValue("O(O)", (PyObject *)&PyDict_Type, self->held);
}

static PyObject *
late_repr(Late *self)
{
    return all_of(self) == NULL ? NULL : PyObject_Repr(self->held);
}

static PyObject *
late_compare(Late *self, PyObject *other, int operation)
{
    if (operation != Py_EQ && operation != Py_NE)
        Py_RETURN_NOTIMPLEMENTED;
    if (is_late(other))
        other = all_of((Late *)other);
    else if (!PyDict_Check(other))
        Py_RETURN_NOTIMPLEMENTED;
    return other == NULL || all_of(self) == NULL ? NULL : PyObject_RichCompare(self->held, other, operation);
}

static int
late_contains(Late *self, PyObject *name)
{
    return PyDict_Contains(self->held, name);
}

static Py_ssize_t
late_length(Late *self)
{
    return PyDict_GET_SIZE(self->held);
}

static PyObject *
late_iterator(Late *self)
{
    return PyObject_GetIter(self->held);
}

static PyMethodDef late_methods[] = {
    {"get", (PyCFunction)(void (*)(void))late_get, METH_FASTCALL, "The value of a name, or the default."},
    {"may_hold", (PyCFunction)(void (*)(void))late_may_hold, METH_FASTCALL, "False where a text holds no such word."},
    {"is_text", (PyCFunction)late_is_text, METH_O, "Whether a value is text, told without decoding it."},
    {"keys", (PyCFunction)late_keys, METH_NOARGS, "The names."},
    {"values", (PyCFunction)late_values, METH_NOARGS, "All values."},
    {"items", (PyCFunction)late_items, METH_NOARGS, "The names with their values."},
    {"__reduce__", (PyCFunction)late_reduce, METH_NOARGS, "As a plain dict."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot late_slots[] = {
    {Py_tp_dealloc, late_dealloc},
    {Py_tp_repr, late_repr},
    {Py_tp_hash, PyObject_HashNotImplemented},
    {Py_tp_richcompare, late_compare},
    {Py_tp_iter, late_iterator},
    {Py_tp_methods, late_methods},
    {Py_mp_subscript, late_item},
    {Py_mp_length, late_length},
    {Py_sq_contains, late_contains},
    {Py_tp_doc, "Attributes whose long values are decoded when they are first read."},
    {0, NULL},
};

static PyType_Spec late_spec = {
    .name = "spanwise.native._core.Late",
    .basicsize = sizeof(Late),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION | Py_TPFLAGS_MAPPING,
    .slots = late_slots,
};

static PyType_Slot piece_slots[] = {
    {Py_tp_dealloc, piece_dealloc},
    {Py_tp_doc, "A value as it is written."},
    {0, NULL},
};

static PyType_Spec piece_spec = {
    .name = "spanwise.native._core.Piece",
    .basicsize = sizeof(Piece),
    .itemsize = 1,
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .slots = piece_slots,
};

int
add_late(PyObject *module)
{
    return add_type(module, &late_spec) < 0 || add_type(module, &piece_spec) < 0 ? -1 : 0;
}
