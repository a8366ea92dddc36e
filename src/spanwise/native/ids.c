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

/* Differs from one process to the next, as the hashes of Python do, so that nobody makes ids that share a place. */
static uint64_t seeds[2];

int
ids_begin(void)
{
    static const char *const words[] = {"ids of spans", "and those of parents"};
    for (size_t i = 0; i < 2; i++) {
        PyObject *word = PyUnicode_FromString(words[i]);
        Py_hash_t hash = word == NULL ? -1 : PyObject_Hash(word);
        Py_XDECREF(word);
        if (hash == -1)
            return -1;
        seeds[i] = (uint64_t)hash;
    }
    return 0;
}

/* A hash of an id; -1 with an exception. Ids are 16 digits or 8 bytes, for which Python takes ten times as long. */
static inline Py_hash_t
hash_of(PyObject *id)
{
#ifdef __SIZEOF_INT128__
    uint64_t parts[2] = {0, 0};
    int is_usual = 0;
    if (PyUnicode_Check(id) && PyUnicode_IS_ASCII(id) && PyUnicode_GET_LENGTH(id) == 16) {
        memcpy(parts, PyUnicode_1BYTE_DATA(id), 16);
        is_usual = 1;
    }
    else if (PyBytes_CheckExact(id) && PyBytes_GET_SIZE(id) == 8) {
        memcpy(parts, PyBytes_AS_STRING(id), 8);
        is_usual = 1;
    }
    if (is_usual) {
        unsigned __int128 mixed = (unsigned __int128)(parts[0] ^ seeds[0]) * (parts[1] ^ seeds[1]);
        Py_hash_t hash = (Py_hash_t)((uint64_t)mixed ^ (uint64_t)(mixed >> 64));
        return hash == -1 ? -2 : hash;
    }
#endif
    return PyObject_Hash(id);
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
    Py_hash_t hash = hash_of(id);
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
    Py_hash_t hash = hash_of(id);
    Py_ssize_t at = hash == -1 ? -1 : place_of(self, id, hash);
    return at < 0 ? -2 : (Py_ssize_t)self->places[at] - 1;
}
