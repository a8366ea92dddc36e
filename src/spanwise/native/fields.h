/* Fields of records, read from the attributes of a span. Python.h must come first. */
#ifndef SPANWISE_FIELDS_H
#define SPANWISE_FIELDS_H

#include "core.h"

#define MOST_FIELDS 16

typedef struct {
    int sort;
    PyObject *keys;    /* a tuple of names, the best first */
    PyObject *convert; /* reads a value of an unusual type; of a fixed field its value, of a mark its values */
} Field;

typedef struct {
    Field *fields;
    Py_ssize_t count;
} Fields;

/* Takes the fields of a tuple of (sort, keys, convert); -1 with an exception, and what was taken is let go by
 * `fields_clear` in any case. */
int fields_take(Fields *self, PyObject *fields);
void fields_clear(Fields *self);
/* The values of all fields, new references, from attributes for which `held_by` gives a dict; -1 with an exception, and none. */
int fields_read(const Fields *self, PyObject *attributes, PyObject **values);

#endif
