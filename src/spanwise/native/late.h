/* Attributes whose long values are decoded when they are first read. Python.h must come first. */
#ifndef SPANWISE_LATE_H
#define SPANWISE_LATE_H

#include "core.h"

typedef struct Piece Piece;

/* A value as it is written: the first `shared` bytes of another, which may be NULL, and then `size` bytes. */
PyObject *late_piece(PyTypeObject *type, Piece *before, Py_ssize_t shared, const unsigned char *bytes, Py_ssize_t size);
/* Attributes that hold these values, those that are pieces decoded by `read`. */
PyObject *late_attributes(PyTypeObject *type, PyObject *held, PyObject *read);

/* The dict in which attributes hold their values, borrowed; NULL for a mapping of any other kind. Of attributes that
 * are read late only its names may be looked at, for which `attribute_of` has the values. */
PyObject *held_by(PyObject *attributes);
/* A value of attributes for which `held_by` gives a dict: a new reference; NULL with or without an exception. */
PyObject *attribute_of(PyObject *attributes, PyObject *name);

#endif
