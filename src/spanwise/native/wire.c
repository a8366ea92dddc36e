/* Wire: makes spans of OTLP in protobuf and in JSON.
 *
 * The twin of sources/_otlp_binary.py, sources/_otlp_packed.py and sources/_otlp_typed.py, for spans. This file holds
 * what both encodings share: texts that came before are given again, and records are made.
 */
#include "wire.h"
#include <stdint.h>

#define PLACE_BITS 12
#define PLACES (1 << PLACE_BITS)
/* Longer texts seldom come again. */
#define LONGEST_KNOWN 40

static size_t
place_of(const unsigned char *bytes, Py_ssize_t size)
{
    uint64_t mixed = (uint64_t)size * 0x9E3779B97F4A7C15ULL, word;
    for (; size >= 8; bytes += 8, size -= 8) {
        memcpy(&word, bytes, 8);
        mixed = (mixed ^ word) * 0xD6E8FEB86659FD93ULL;
        mixed ^= mixed >> 29;
    }
    if (size) {
        word = 0;
        memcpy(&word, bytes, size);
        mixed = (mixed ^ word) * 0xD6E8FEB86659FD93ULL;
        mixed ^= mixed >> 29;
    }
    return (mixed * 0x9E3779B97F4A7C15ULL) >> (64 - PLACE_BITS);
}

static inline int
is_text(PyObject *known, const unsigned char *bytes, Py_ssize_t size)
{
    return known != NULL && PyUnicode_GET_LENGTH(known) == size && !memcmp(PyUnicode_1BYTE_DATA(known), bytes, size);
}

int
wire_is_ascii(const unsigned char *bytes, Py_ssize_t size)
{
    uint64_t word, high = 0;
    for (; size >= 8; bytes += 8, size -= 8) {
        memcpy(&word, bytes, 8);
        high |= word;
    }
    for (; size; bytes++, size--)
        high |= *bytes;
    return !(high & 0x8080808080808080ULL);
}

static PyObject *
new_text(const unsigned char *bytes, Py_ssize_t size, int ascii)
{
    if (ascii) {
        PyObject *made = PyUnicode_New(size, 127);
        if (made != NULL)
            memcpy(PyUnicode_1BYTE_DATA(made), bytes, size);
        return made;
    }
    PyObject *made = PyUnicode_DecodeUTF8((const char *)bytes, size, "strict");
    if (made == NULL && PyErr_ExceptionMatches(PyExc_UnicodeDecodeError))
        PyErr_Clear();
    return made;
}

PyObject *
wire_text(Wire *wire, const unsigned char *bytes, Py_ssize_t size, int ascii)
{
    if (size > LONGEST_KNOWN || size < 2 || !ascii)
        return new_text(bytes, size, ascii && size > 1);
    PyObject **known = &wire->known_texts[place_of(bytes, size)];
    if (!is_text(*known, bytes, size)) {
        PyObject *made = new_text(bytes, size, 1);
        if (made == NULL)
            return NULL;
        Py_XSETREF(*known, made);
    }
    return Py_NewRef(*known);
}

PyObject *
wire_name(Wire *wire, const unsigned char *bytes, Py_ssize_t size, int ascii)
{
    PyObject **known = &wire->known_names[place_of(bytes, size)];
    if (ascii && is_text(*known, bytes, size))
        return Py_NewRef(*known);
    PyObject *made = new_text(bytes, size, ascii && size > 1);
    if (made == NULL)
        return NULL;
    PyObject *name = PyObject_GetItem(wire->names, made);
    Py_DECREF(made);
    if (name != NULL && !PyUnicode_CheckExact(name)) {
        PyErr_SetString(PyExc_TypeError, "a name is no text");
        Py_CLEAR(name);
    }
    if (name != NULL && ascii && PyUnicode_IS_ASCII(name))
        Py_XSETREF(*known, Py_NewRef(name));
    return name;
}

static PyObject *
as_tuple(PyObject *list)
{
    return list == NULL ? PyTuple_New(0) : PyList_AsTuple(list);
}

PyObject *
wire_span(Wire *wire, Parts *parts, PyObject *scope)
{
    int bare = parts->attributes == NULL || !PyDict_GET_SIZE(parts->attributes);
    PyObject *args[] = {parts->trace_id,
                        parts->span_id,
                        parts->parent_id == NULL ? Py_None : parts->parent_id,
                        parts->name,
                        PyLong_FromUnsignedLongLong(parts->start),
                        PyLong_FromUnsignedLongLong(parts->end),
                        PyLong_FromLong(parts->code),
                        parts->message,
                        bare ? wire->empty : parts->attributes,
                        as_tuple(parts->events),
                        scope,
                        as_tuple(parts->links),
                        PyLong_FromLong(parts->kind),
                        (parts->flags & REMOTE) == REMOTE ? Py_True : Py_False,
                        PyLong_FromUnsignedLongLong(parts->dropped)};
    static const int made[] = {4, 5, 6, 9, 11, 12, 14};
    int failed = 0;
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        failed |= args[made[i]] == NULL;
    PyObject *span = failed ? NULL : PyObject_Vectorcall(wire->span, args, 15, NULL);
    for (size_t i = 0; i < sizeof(made) / sizeof(made[0]); i++)
        Py_XDECREF(args[made[i]]);
    return span;
}

PyObject *
wire_event(Wire *wire, PyObject *name, unsigned long long time, PyObject *attributes)
{
    PyObject *at = PyLong_FromUnsignedLongLong(time);
    if (at == NULL)
        return NULL;
    int bare = attributes == NULL || !PyDict_GET_SIZE(attributes);
    PyObject *args[] = {name, at, bare ? wire->empty : attributes};
    PyObject *event = PyObject_Vectorcall(wire->event, args, 3, NULL);
    Py_DECREF(at);
    return event;
}

PyObject *
wire_link(Wire *wire, PyObject *trace_id, PyObject *span_id, PyObject *attributes)
{
    int bare = attributes == NULL || !PyDict_GET_SIZE(attributes);
    PyObject *args[] = {trace_id, span_id, bare ? wire->empty : attributes};
    return PyObject_Vectorcall(wire->link, args, 3, NULL);
}

int
wire_push(PyObject **list, PyObject *record)
{
    if (record == NULL)
        return 0;
    if (*list == NULL)
        *list = PyList_New(0);
    int pushed = *list != NULL && PyList_Append(*list, record) == 0;
    Py_DECREF(record);
    return pushed;
}

void
wire_clear(Parts *parts)
{
    Py_XDECREF(parts->trace_id);
    Py_XDECREF(parts->span_id);
    Py_XDECREF(parts->parent_id);
    Py_XDECREF(parts->name);
    Py_XDECREF(parts->message);
    Py_XDECREF(parts->attributes);
    Py_XDECREF(parts->events);
    Py_XDECREF(parts->links);
}

static void
wire_dealloc(Wire *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t i = 0; i < PLACES; i++) {
        if (self->known_names != NULL)
            Py_XDECREF(self->known_names[i]);
        if (self->known_texts != NULL)
            Py_XDECREF(self->known_texts[i]);
    }
    PyMem_Free(self->known_names);
    PyMem_Free(self->known_texts);
    Py_XDECREF(self->span);
    Py_XDECREF(self->event);
    Py_XDECREF(self->link);
    Py_XDECREF(self->packed);
    Py_XDECREF(self->empty);
    Py_XDECREF(self->names);
    Py_XDECREF(self->late);
    Py_XDECREF(self->piece);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* A type of this module. */
static PyTypeObject *
own_type(PyTypeObject *type, const char *name)
{
    PyObject *module = PyType_GetModule(type);
    return module == NULL ? NULL : (PyTypeObject *)PyObject_GetAttrString(module, name);
}

static PyObject *
wire_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"span", "event", "link", "packed", "empty", "names", NULL};
    PyObject *span, *event, *link, *packed, *empty, *known;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!OO:Wire", names, &PyType_Type, &span, &PyType_Type, &event,
                                     &PyType_Type, &link, &PyType_Type, &packed, &empty, &known))
        return NULL;
    Wire *self = (Wire *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->span = Py_NewRef(span);
    self->event = Py_NewRef(event);
    self->link = Py_NewRef(link);
    self->packed = Py_NewRef(packed);
    self->empty = Py_NewRef(empty);
    self->names = Py_NewRef(known);
    self->known_names = PyMem_Calloc(PLACES, sizeof(PyObject *));
    self->known_texts = PyMem_Calloc(PLACES, sizeof(PyObject *));
    if (self->known_names == NULL || self->known_texts == NULL) {
        Py_DECREF(self);
        return PyErr_NoMemory();
    }
    self->late = own_type(type, "Late");
    self->piece = own_type(type, "Piece");
    if (self->late == NULL || self->piece == NULL)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef wire_methods[] = {
    {"span", (PyCFunction)proto_span, METH_VARARGS, "The span of an encoded message; None where it declines."},
    {"traces", (PyCFunction)proto_traces, METH_VARARGS, "The spans of an encoded request; None where it declines."},
    {"pack", (PyCFunction)proto_pack, METH_VARARGS, "The same as bytes each, and how many were skipped."},
    {"document", (PyCFunction)json_document, METH_VARARGS, "The spans of a JSON document; None where it declines."},
    {"spans", (PyCFunction)json_spans, METH_VARARGS, "The spans of JSON objects with commas between them."},
    {"nested", (PyCFunction)json_nested, METH_VARARGS, "The id and the spans of a nested trace; None where it declines."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot wire_slots[] = {
    {Py_tp_new, wire_new},
    {Py_tp_dealloc, wire_dealloc},
    {Py_tp_methods, wire_methods},
    {Py_tp_doc, "Makes spans of OTLP."},
    {0, NULL},
};

static PyType_Spec wire_spec = {
    .name = "spanwise.native._core.Wire",
    .basicsize = sizeof(Wire),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = wire_slots,
};

int
add_wire(PyObject *module)
{
    return add_type(module, &wire_spec);
}
