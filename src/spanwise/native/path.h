/* A run's spans as numbers, and what its time went by on. */
#ifndef SPANWISE_PATH_H
#define SPANWISE_PATH_H

#include "core.h"

#include <stdint.h>

/* How many spans are named at most. */
#define MOST 8

/* What a span is: by its kind one that begins a run, or a model call; a call that failed, or that repeats another; above
 * a model call; one of which it is known what call it lies in. */
enum { RUNNER = 1, MODEL = 2, FAILED = 4, REPEATED = 8, ABOVE = 16, KNOWN = 32 };

/* A span, by its place among those of the run; behind the last one stands the run itself, where it has no span. */
typedef struct {
    int64_t start, end;
    int64_t held;            /* of the path */
    int64_t lost;            /* of the path, in this call and what lies in it */
    Py_ssize_t index;        /* among the trace's spans */
    Py_ssize_t parent;       /* a place; of spans that were just loaded an index */
    Py_ssize_t first, count; /* its children among the children */
    Py_ssize_t call;         /* the place of the call that it is or lies in, -1 for none */
    int bits;
} Step;

/* A span that has a length and hangs below another. */
typedef struct {
    int64_t end;
    Py_ssize_t at;
} Child;

typedef struct {
    Py_ssize_t at, next;
    int64_t floor;
} Frame;

typedef struct {
    Step *steps;      /* one more than there are spans, as there are of the others */
    Child *children; /* in one row, by what they hang below */
    Frame *frames;
    Py_ssize_t count, root;
    int64_t begin, end;
    int models; /* some span is a model call */
    int lossy;  /* some span is a call that failed, or that repeats another */
} Walk;

/* A new tuple: the spans that hold most of the path, at most so many; what was lost in each call that failed or repeats
 * another; the gaps longer than that, or None where they are not known, as where `longer` is negative. */
PyObject *walk_path(Walk *walk, Py_ssize_t named, int64_t longer);

#endif
