/* Instances of msgspec Structs, made without what their call sees to for any type. Python.h must come first. */
#ifndef SPANWISE_SHAPE_H
#define SPANWISE_SHAPE_H

#include "core.h"

#define MOST_SLOTS 16

typedef struct {
    PyTypeObject *type;
    Py_ssize_t count; /* of fields; 0 for a type whose instances its call makes */
    Py_ssize_t at[MOST_SLOTS];
    PyObject *defaults[MOST_SLOTS]; /* NULL for a field that must be given */
} Shape;

/* Takes a type; -1 with an exception. */
int shape_take(Shape *self, PyTypeObject *type);
void shape_clear(Shape *self);
/* An instance whose first fields have these values: a new reference; NULL with an exception. */
PyObject *shape_made(const Shape *self, PyObject *const *values, Py_ssize_t given);

#endif
