/* Spans by start: the twin of `_sorted` in assembly/links.py, for spans that all differ in id. */
#include "link.h"

typedef struct {
    long long start, end;
    PyObject *raw, *id;
    unsigned long long word; /* an id that is a number */
    Py_ssize_t number;       /* its place in the list */
} Entry;

static int
by_start(const void *one, const void *other)
{
    long long a = ((const Entry *)one)->start, b = ((const Entry *)other)->start;
    return (a > b) - (a < b);
}

/* By the hexadecimal text of the ids, which are of one kind, see `read_tie`. */
static int
by_id(const Entry *one, const Entry *other)
{
    PyObject *a = one->id, *b = other->id;
    if (PyLong_CheckExact(a))
        return (one->word > other->word) - (one->word < other->word);
    int is_text = PyUnicode_CheckExact(a);
    Py_ssize_t size = is_text ? PyUnicode_GET_LENGTH(a) : PyBytes_GET_SIZE(a);
    Py_ssize_t beside = is_text ? PyUnicode_GET_LENGTH(b) : PyBytes_GET_SIZE(b);
    const unsigned char *left = is_text ? PyUnicode_1BYTE_DATA(a) : (const unsigned char *)PyBytes_AS_STRING(a);
    const unsigned char *right = is_text ? PyUnicode_1BYTE_DATA(b) : (const unsigned char *)PyBytes_AS_STRING(b);
    for (Py_ssize_t i = 0; i < size && i < beside; i++) {
        int x = is_text ? Py_TOLOWER(left[i]) : left[i], y = is_text ? Py_TOLOWER(right[i]) : right[i];
        if (x != y)
            return x - y;
    }
    return (size > beside) - (size < beside);
}

/* Of spans that start together the longer first, then by id. */
static int
by_end(const void *one, const void *other)
{
    const Entry *a = one, *b = other;
    return a->end != b->end ? (a->end < b->end) - (a->end > b->end) : by_id(a, b);
}

/* Takes in what tells spans apart that start together; 0 where an end or an id is odd, or ids are of several kinds. */
static int
read_tie(Linker *self, Entry *entries, Py_ssize_t count)
{
    for (Py_ssize_t i = 0; i < count; i++) {
        Entry *entry = &entries[i];
        PyObject *id = entry->id;
        if (!is_whole(slot(entry->raw, self->end_ns), &entry->end) || Py_TYPE(id) != Py_TYPE(entries->id))
            return 0;
        if (PyLong_CheckExact(id)) {
            entry->word = PyLong_AsUnsignedLongLong(id);
            if (PyErr_Occurred()) {
                PyErr_Clear();
                return 0;
            }
        }
        else if (!PyBytes_CheckExact(id) && !(PyUnicode_CheckExact(id) && PyUnicode_IS_ASCII(id)))
            return 0;
    }
    return 1;
}

/* Puts each span behind its parent where both are of a group that starts together; -1 with an exception. `places` are
 * where spans stand by their numbers, -1 for those that were put; `made` has room for all entries. */
static int
parents_first(Linker *self, const Ids *ids, Entry *entries, Py_ssize_t begin, Py_ssize_t end, Py_ssize_t *places,
              Entry *made)
{
    Py_ssize_t put = begin;
    for (Py_ssize_t i = begin; i < end; i++) {
        Py_ssize_t at = i, first = put;
        while (at >= begin && at < end && places[entries[at].number] >= 0) {
            made[put++] = entries[at];
            places[entries[at].number] = -1;
            PyObject *above = slot(entries[at].raw, self->parent_id);
            Py_ssize_t number = above == NULL || above == Py_None ? -1 : ids_find(ids, above);
            if (number < -1)
                return -1;
            at = number < 0 ? -1 : places[number];
        }
        for (Py_ssize_t low = first, high = put - 1; low < high; low++, high--) {
            Entry held = made[low];
            made[low] = made[high];
            made[high] = held;
        }
    }
    memcpy(entries + begin, made + begin, (size_t)(end - begin) * sizeof(Entry));
    return 0;
}

/* Orders the spans among those that start together. 1: done; 0: that takes a closer look; -1: an exception. */
static int
order_ties(Linker *self, const Ids *ids, Entry *entries, Py_ssize_t count)
{
    Entry *made = PyMem_Malloc((size_t)count * sizeof(Entry));
    Py_ssize_t *places = PyMem_Malloc((size_t)count * sizeof(Py_ssize_t));
    int done = made != NULL && places != NULL ? 1 : (PyErr_NoMemory(), -1);
    for (Py_ssize_t begin = 0, end; done == 1 && begin < count; begin = end) {
        for (end = begin + 1; end < count && entries[end].start == entries[begin].start;)
            end++;
        if (end - begin > 1) {
            done = read_tie(self, entries + begin, end - begin);
            if (done)
                qsort(entries + begin, (size_t)(end - begin), sizeof(Entry), by_end);
        }
        for (Py_ssize_t i = begin; i < end; i++)
            places[entries[i].number] = i;
    }
    for (Py_ssize_t begin = 0, end; done == 1 && begin < count; begin = end) {
        for (end = begin + 1; end < count && entries[end].start == entries[begin].start;)
            end++;
        if (end - begin > 1 && parents_first(self, ids, entries, begin, end, places, made) < 0)
            done = -1;
    }
    PyMem_Free(made);
    PyMem_Free(places);
    return done;
}

/* Asks for what `order` reads of the spans further on. */
ASKING
soon_ordered(Linker *self, PyObject *raws, Py_ssize_t at)
{
    linker_soon(raws, at + 4 * AHEAD);
    PyObject *raw = linker_later(self, raws, at + 2 * AHEAD);
    if (raw != NULL) {
        soon_whole(slot(raw, self->span_id));
        SOON(slot(raw, self->start_ns));
    }
}

/* order(raws): the spans by start as a new list; None where two share an id, or any is odd. */
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
    for (Py_ssize_t i = 0; i < 4 * AHEAD; i++)
        linker_soon(raws, i);
    for (Py_ssize_t i = 0; i < 2 * AHEAD; i++)
        soon_ordered(self, raws, i - 2 * AHEAD);
    for (Py_ssize_t i = 0; i < count && !odd; i++) {
        PyObject *raw = PyList_GET_ITEM(raws, i);
        soon_ordered(self, raws, i);
        if (!Py_IS_TYPE(raw, self->raw_type) || !is_whole(slot(raw, self->start_ns), &entries[i].start)) {
            odd = 1;
            break;
        }
        entries[i].raw = raw;
        entries[i].number = i;
        if (i && entries[i].start <= entries[i - 1].start)
            sorted = 0;
        entries[i].id = slot(raw, self->span_id);
        odd = entries[i].id == NULL || ids_add(&ids, entries[i].id) != 1;
    }
    if (PyErr_Occurred())
        goto done;
    if (!odd && !sorted)
        qsort(entries, count, sizeof(Entry), by_start);
    int tied = 0;
    for (Py_ssize_t i = 1; i < count && !odd && !sorted && !tied; i++)
        tied = entries[i].start == entries[i - 1].start;
    if (tied) {
        int done = order_ties(self, &ids, entries, count);
        if (done < 0)
            goto done;
        odd = !done;
    }
    if (odd) {
        found = Py_NewRef(Py_None);
        goto done;
    }
    found = PyList_New(count);
    for (Py_ssize_t i = 0; found != NULL && i < count; i++)
        PyList_SET_ITEM(found, i, Py_NewRef(entries[i].raw));
    if (found != NULL && sorted) {
        Ids last = self->ordered;
        self->ordered = ids;
        ids = last;
    }
done:
    ids_clear(&ids);
    PyMem_Free(entries);
    return found;
}
