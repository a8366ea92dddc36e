/* Ids: a table of hashes of a fixed size, for a dict grows step by step and holds an object for each number. */
#include "ids.h"

#define SPREAD ((size_t)11400714819323198485ULL)

int
ids_init(Ids *self, Py_ssize_t most)
{
    size_t size = 8;
    if (most > INT32_MAX - 1) {
        PyErr_SetString(PyExc_OverflowError, "too many ids");
        return -1;
    }
    while (size < (size_t)most * 2)
        size *= 2;
    *self = (Ids){.mask = size - 1};
    self->places = PyMem_Calloc(size, sizeof(int32_t));
    self->ids = PyMem_Malloc((most ? most : 1) * sizeof(Id));
    if (self->places != NULL && self->ids != NULL)
        return 0;
    ids_clear(self);
    PyErr_NoMemory();
    return -1;
}

void
ids_clear(Ids *self)
{
    for (Py_ssize_t i = 0; i < self->count; i++)
        Py_DECREF(self->ids[i].id);
    PyMem_Free(self->places);
    PyMem_Free(self->ids);
    *self = (Ids){0};
}

/* Whether two ids of one hash are equal; -1 with an exception. */
static inline int
are_equal(PyObject *one, PyObject *other)
{
    if (one == other)
        return 1;
    if (PyUnicode_CheckExact(one) && PyUnicode_CheckExact(other) && PyUnicode_IS_ASCII(one) && PyUnicode_IS_ASCII(other))
        return PyUnicode_GET_LENGTH(one) == PyUnicode_GET_LENGTH(other) &&
               !memcmp(PyUnicode_1BYTE_DATA(one), PyUnicode_1BYTE_DATA(other), PyUnicode_GET_LENGTH(one));
    return PyObject_RichCompareBool(one, other, Py_EQ);
}

/* Where an id of this hash stands, or would; -1 with an exception. */
static Py_ssize_t
place_of(const Ids *self, PyObject *id, Py_hash_t hash)
{
    size_t at = ((size_t)hash * SPREAD >> 20) & self->mask;
    for (; self->places[at]; at = (at + 1) & self->mask) {
        const Id *known = &self->ids[self->places[at] - 1];
        if (known->hash != hash)
            continue;
        int same = are_equal(known->id, id);
        if (same)
            return same < 0 ? -1 : (Py_ssize_t)at;
    }
    return (Py_ssize_t)at;
}

int
ids_add(Ids *self, PyObject *id)
{
    Py_hash_t hash = PyObject_Hash(id);
    Py_ssize_t at = hash == -1 ? -1 : place_of(self, id, hash);
    if (at < 0)
        return -1;
    if (self->places[at])
        return 0;
    self->ids[self->count++] = (Id){Py_NewRef(id), hash};
    self->places[at] = (int32_t)self->count;
    return 1;
}

Py_ssize_t
ids_find(const Ids *self, PyObject *id)
{
    Py_hash_t hash = PyObject_Hash(id);
    Py_ssize_t at = hash == -1 ? -1 : place_of(self, id, hash);
    return at < 0 ? -2 : (Py_ssize_t)self->places[at] - 1;
}
