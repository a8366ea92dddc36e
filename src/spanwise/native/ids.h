/* The numbers of things by their ids, where it is known how many there will be. Python.h must come first. */
#ifndef SPANWISE_IDS_H
#define SPANWISE_IDS_H

#include "core.h"
#include <stdint.h>

typedef struct {
    PyObject *id;
    Py_hash_t hash;
} Id;

typedef struct {
    int32_t *places; /* by hash the number of an id and one more, 0 where there is none */
    Id *ids;         /* by number */
    Py_ssize_t count;
    size_t mask;
} Ids;

/* Must be called before all others; -1 with an exception. */
int ids_begin(void);
/* Makes room for so many; -1 with an exception. */
int ids_init(Ids *self, Py_ssize_t most);
void ids_clear(Ids *self);
/* Takes an id and gives it the next number. 1: it is new; 0: it was there; -1: an exception. */
int ids_add(Ids *self, PyObject *id);
/* The number of an id; -1 where it is not there; -2 with an exception. */
Py_ssize_t ids_find(const Ids *self, PyObject *id);

#endif
