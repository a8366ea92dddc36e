/* Spans by start: the twin of `_sorted` in assembly/links.py, for spans that all differ in id and start. */
#include "link.h"

typedef struct {
    long long start;
    PyObject *raw;
} Entry;

static int
by_start(const void *one, const void *other)
{
    long long a = ((const Entry *)one)->start, b = ((const Entry *)other)->start;
    return (a > b) - (a < b);
}

/* Asks for what `order` reads of the spans further on. */
ASKING
soon_ordered(Linker *self, PyObject *raws, Py_ssize_t at)
{
    linker_soon(raws, at + 2 * AHEAD);
    PyObject *raw = linker_later(self, raws, at + AHEAD);
    if (raw != NULL) {
        SOON(slot(raw, self->span_id));
        SOON(slot(raw, self->start_ns));
    }
}

/* order(raws): the spans by start as a new list; None where two start together or share an id, or any is odd. */
PyObject *
linker_order(Linker *self, PyObject *raws)
{
    if (!PyList_CheckExact(raws)) {
        PyErr_SetString(PyExc_TypeError, "order takes a list of spans");
        return NULL;
    }
    Py_ssize_t count = PyList_GET_SIZE(raws);
    Entry *entries = PyMem_Malloc((count ? count : 1) * sizeof(Entry));
    if (entries == NULL)
        return PyErr_NoMemory();
    Ids ids = {0};
    PyObject *found = NULL;
    int sorted = 1, odd = ids_init(&ids, count) < 0;
    for (Py_ssize_t i = 0; i < count && !odd; i++) {
        PyObject *raw = PyList_GET_ITEM(raws, i);
        soon_ordered(self, raws, i);
        if (!Py_IS_TYPE(raw, self->raw_type) || !is_whole(slot(raw, self->start_ns), &entries[i].start)) {
            odd = 1;
            break;
        }
        entries[i].raw = raw;
        if (i && entries[i].start <= entries[i - 1].start)
            sorted = 0;
        PyObject *id = slot(raw, self->span_id);
        odd = id == NULL || ids_add(&ids, id) != 1;
    }
    if (PyErr_Occurred())
        goto done;
    if (!odd && !sorted)
        qsort(entries, count, sizeof(Entry), by_start);
    for (Py_ssize_t i = 1; i < count && !odd && !sorted; i++)
        odd = entries[i].start == entries[i - 1].start;
    if (odd) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    found = PyList_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++)
        PyList_SET_ITEM(found, i, Py_NewRef(entries[i].raw));
done:
    ids_clear(&ids);
    PyMem_Free(entries);
    return found;
}
