/* What the files of the Linker share. Python.h must come first. */
#ifndef SPANWISE_LINK_H
#define SPANWISE_LINK_H

#include "ahead.h"
#include "ids.h"
#include "late.h"
#include "shape.h"

/* Names of attributes are told apart by so many bits of their hashes before any is looked up. */
#define SIEVE 256

typedef struct {
    PyObject *key;     /* the attribute that tells the dialect */
    PyObject *dialect; /* its number */
    PyObject *kind;    /* what says the kind of a span of that dialect */
    PyObject *table;   /* the kinds by the value of that attribute, some with what else they take, or NULL */
} Mark;

typedef struct {
    PyObject_HEAD
    PyTypeObject *raw_type;
    Shape span;
    PyTypeObject *scope_type;
    Py_ssize_t span_id, parent_id, start_ns, end_ns, attributes, scope, remote, dropped, title, scope_name;
    PyObject *by_scope; /* a dict: the name of a scope -> pairs of a dialect and what says its kinds */
    PyObject *watched;  /* a dict: the name of a scope -> bits that are told of a trace with it */
    PyObject *roles;    /* a dict: kind -> what its spans do in the tree, as bits */
    PyObject *slow;     /* classifies a span whose attributes are of any other kind */
    PyObject *unknown;  /* the dialect and kind of a span that nothing knows */
    Mark *marks;
    Py_ssize_t count;
    uint64_t sieve[SIEVE]; /* by a name's hash the marks, as bits, whose key that name may be */
    Ids ordered;           /* the ids of the spans that `order` gave last, until `link` takes them; or none */
} Linker;

/* A span further on in a list; NULL outside of it, and where it is none. */
static inline PyObject *
linker_later(Linker *self, PyObject *raws, Py_ssize_t at)
{
    PyObject *raw = at >= 0 && at < PyList_GET_SIZE(raws) ? PyList_GET_ITEM(raws, at) : NULL;
    return raw != NULL && Py_IS_TYPE(raw, self->raw_type) ? raw : NULL;
}

ASKING
linker_soon(PyObject *raws, Py_ssize_t at)
{
    if (at >= 0 && at < PyList_GET_SIZE(raws))
        soon_whole(PyList_GET_ITEM(raws, at));
}

PyObject *linker_order(Linker *self, PyObject *raws);

#endif
