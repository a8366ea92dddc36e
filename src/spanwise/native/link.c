/* Linker: spans by start, each with its dialect, its kind, and the indices of parent, run, agent and holder.
 *
 * The twin of `_ordered`, `_link` and the counts of `_completeness` in assembly/tree.py, and of `classify` in
 * conventions/__init__.py, for spans whose attributes are a plain dict or are read late.
 */
#include "link.h"
#include <stdint.h>

#define PACE 64
#define MOST_MARKS 64
enum { RUNNER = 1, AGENT = 2, HOLDER = 4 };

static void
linker_dealloc(Linker *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t i = 0; i < self->count; i++) {
        Py_XDECREF(self->marks[i].key);
        Py_XDECREF(self->marks[i].dialect);
        Py_XDECREF(self->marks[i].kind);
        Py_XDECREF(self->marks[i].table);
    }
    PyMem_Free(self->marks);
    Py_XDECREF(self->raw_type);
    shape_clear(&self->span);
    ids_clear(&self->ordered);
    Py_XDECREF(self->scope_type);
    Py_XDECREF(self->by_scope);
    Py_XDECREF(self->watched);
    Py_XDECREF(self->roles);
    Py_XDECREF(self->slow);
    Py_XDECREF(self->unknown);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static int
take_marks(Linker *self, PyObject *marks)
{
    Py_ssize_t count = PyTuple_GET_SIZE(marks);
    if (count > MOST_MARKS) {
        PyErr_Format(PyExc_ValueError, "%zd marks, at most %d are looked for", count, MOST_MARKS);
        return -1;
    }
    self->marks = PyMem_Calloc(count ? count : 1, sizeof(Mark));
    if (self->marks == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->count = count;
    for (Py_ssize_t i = 0; i < count; i++) {
        Mark *mark = &self->marks[i];
        PyObject *table;
        if (!PyArg_ParseTuple(PyTuple_GET_ITEM(marks, i), "UO!OO:mark", &mark->key, &PyLong_Type, &mark->dialect,
                              &mark->kind, &table)) {
            mark->key = mark->dialect = mark->kind = NULL;
            return -1;
        }
        int is_table = PyDict_CheckExact(table);
        if (is_table && !kinds_are_sound(table)) {
            mark->key = mark->dialect = mark->kind = NULL;
            return -1;
        }
        Py_hash_t hash = PyObject_Hash(mark->key);
        self->sieve[(size_t)hash % SIEVE] |= (uint64_t)1 << i;
        Py_INCREF(mark->key);
        Py_INCREF(mark->dialect);
        Py_INCREF(mark->kind);
        if (is_table) {
            Py_INCREF(table);
            mark->table = table;
        }
    }
    return 0;
}

static PyObject *
linker_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"raw", "span", "scope", "by_scope", "watched", "marks", "roles", "slow", "unknown", NULL};
    PyTypeObject *raw, *span, *scope;
    PyObject *by_scope, *watched, *marks, *roles, *slow, *unknown;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!O!O!O!OO!:Linker", names, &PyType_Type, &raw, &PyType_Type,
                                     &span, &PyType_Type, &scope, &PyDict_Type, &by_scope, &PyDict_Type, &watched,
                                     &PyTuple_Type, &marks, &PyDict_Type, &roles, &slow, &PyTuple_Type, &unknown))
        return NULL;
    if (PyTuple_GET_SIZE(unknown) != 2) {
        PyErr_SetString(PyExc_ValueError, "`unknown` is a dialect and a kind");
        return NULL;
    }
    Linker *self = (Linker *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->raw_type = (PyTypeObject *)Py_NewRef((PyObject *)raw);
    if (shape_take(&self->span, span) < 0)
        goto fail;
    self->scope_type = (PyTypeObject *)Py_NewRef((PyObject *)scope);
    self->by_scope = Py_NewRef(by_scope);
    self->watched = Py_NewRef(watched);
    self->roles = Py_NewRef(roles);
    self->slow = Py_NewRef(slow);
    self->unknown = Py_NewRef(unknown);
    struct {
        PyTypeObject *of;
        const char *field;
        Py_ssize_t *at;
    } places[] = {
        {raw, "span_id", &self->span_id},       {raw, "parent_id", &self->parent_id},
        {raw, "start_ns", &self->start_ns},     {raw, "end_ns", &self->end_ns},
        {raw, "attributes", &self->attributes}, {raw, "scope", &self->scope},
        {raw, "parent_remote", &self->remote},  {raw, "dropped", &self->dropped},
        {raw, "name", &self->title},            {scope, "name", &self->scope_name},
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        *places[i].at = slot_of(places[i].of, places[i].field);
        if (*places[i].at < 0)
            goto fail;
    }
    if (take_marks(self, marks) < 0)
        goto fail;
    return (PyObject *)self;
fail:
    Py_DECREF(self);
    return NULL;
}

/* -1, 0 or 1 by the sign of a whole number of any size; 0 with an exception set for anything else. */
static int
sign_of(PyObject *value)
{
    int overflow = 0;
    long long number;
    if (is_whole(value, &number))
        return (number > 0) - (number < 0);
    if (value == NULL || !PyLong_Check(value)) {
        PyErr_SetString(PyExc_TypeError, "a span's end, or what it lost, is no whole number");
        return 0;
    }
    number = PyLong_AsLongLongAndOverflow(value, &overflow);
    return overflow ? overflow : (number > 0) - (number < 0);
}

/* Asks for what `link` reads of the spans further on. */
ASKING
soon_linked(Linker *self, PyObject *raws, Py_ssize_t at)
{
    linker_soon(raws, at + 3 * AHEAD);
    PyObject *raw = linker_later(self, raws, at + 2 * AHEAD);
    if (raw != NULL) {
        soon_whole(slot(raw, self->attributes));
        soon_whole(slot(raw, self->title));
        SOON(slot(raw, self->end_ns));
        soon_whole(slot(raw, self->parent_id));
    }
    raw = linker_later(self, raws, at + AHEAD);
    if (raw != NULL)
        soon_keys(slot(raw, self->attributes));
}

/* Asks one dialect. 1: it knows the span, `kind` is a new reference; 0: it does not; -1: an exception. */
static int
ask(PyObject *teller, PyObject *raw, PyObject **kind)
{
    PyObject *said = PyObject_CallOneArg(teller, raw);
    if (said == NULL)
        return -1;
    if (said == Py_None) {
        Py_DECREF(said);
        return 0;
    }
    *kind = said;
    return 1;
}

/* The marks, as bits, that may be among some attributes; no other is. */
static uint64_t
marks_among(Linker *self, PyObject *attributes)
{
    PyObject *name, *value;
    Py_ssize_t at = 0;
    uint64_t found = 0;
    while (PyDict_Next(attributes, &at, &name, &value)) {
        if (!PyUnicode_CheckExact(name))
            return ~(uint64_t)0; /* it may be equal to anything */
        Py_hash_t hash = ((PyASCIIObject *)name)->hash;
        found |= self->sieve[(size_t)(hash == -1 ? PyObject_Hash(name) : hash) % SIEVE];
    }
    return found;
}

typedef struct {
    Py_ssize_t run, agent, holder;
    int role;
} Place;

/* A kind, a reference of its own, or NULL, and what its spans do in the tree. */
typedef struct {
    PyObject *kind;
    int role;
} Known;

/* A scope, a reference of its own, or NULL, and what `by_scope` has for it, borrowed, or NULL. */
typedef struct {
    PyObject *scope, *vendors;
} Speaker;

typedef struct {
    Ids index;          /* by a span's id its place among the spans */
    PyObject **numbers; /* the same numbers in order, behind that of -1 */
    Place *places;
    Known known[LATELY];
    Speaker speakers[LATELY];
    long long heard; /* what `watched` has for the scopes so far */
    Py_ssize_t unseen, unended, dropped, limited;
    int tangled;
} Work;

/* What is known of a scope of this name; NULL with an exception. */
static const Speaker *
speaker_of(Linker *self, PyObject *scope, PyObject *name, Work *work)
{
    Speaker *speaker = &work->speakers[((uintptr_t)scope >> 4) % LATELY];
    if (speaker->scope == scope)
        return speaker;
    PyObject *vendors = name == NULL ? NULL : PyDict_GetItemWithError(self->by_scope, name);
    PyObject *watched = name == NULL || PyErr_Occurred() ? NULL : PyDict_GetItemWithError(self->watched, name);
    if (watched != NULL)
        work->heard |= PyLong_AsLongLong(watched);
    if (PyErr_Occurred())
        return NULL;
    Py_XSETREF(speaker->scope, Py_NewRef(scope));
    speaker->vendors = vendors;
    return speaker;
}

/* The dialect (borrowed) and the kind (a new reference) of a span. */
static int
classify(Linker *self, PyObject *raw, Work *work, PyObject **dialect, PyObject **kind)
{
    PyObject *attributes = slot(raw, self->attributes), *scope = slot(raw, self->scope);
    if (attributes == NULL || scope == NULL || !Py_IS_TYPE(scope, self->scope_type)) {
        PyErr_SetString(PyExc_TypeError, "a span without attributes or without a scope");
        return -1;
    }
    PyObject *name = slot(scope, self->scope_name);
    const Speaker *speaker = speaker_of(self, scope, name, work);
    if (speaker == NULL)
        return -1;
    PyObject *vendors = speaker->vendors;
    for (Py_ssize_t i = 0; vendors != NULL && i < PyTuple_GET_SIZE(vendors); i++) {
        PyObject *pair = PyTuple_GET_ITEM(vendors, i); /* two things: what made the linker sees to it */
        int known = ask(PyTuple_GET_ITEM(pair, 1), raw, kind);
        if (known) {
            *dialect = PyTuple_GET_ITEM(pair, 0);
            return known < 0 ? -1 : 0;
        }
    }
    uint64_t among = marks_among(self, held_by(attributes));
    for (Py_ssize_t i = 0; i < self->count && among >> i; i++) {
        if (!(among >> i & 1))
            continue;
        Mark *mark = &self->marks[i];
        PyObject *value = attribute_of(attributes, mark->key), *listed = NULL;
        if (value == NULL) {
            if (PyErr_Occurred())
                return -1;
            continue;
        }
        int is_text = mark->table != NULL && PyUnicode_CheckExact(value);
        if (is_text)
            listed = PyDict_GetItemWithError(mark->table, value);
        Py_DECREF(value);
        if (is_text) {
            if (listed != NULL && PyTuple_CheckExact(listed)) {
                int plain = kind_is_plain(listed, slot(raw, self->title), name, attributes);
                if (plain < 0)
                    return -1;
                listed = plain ? PyTuple_GET_ITEM(listed, 0) : NULL;
            }
            if (listed != NULL) {
                *kind = Py_NewRef(listed);
                *dialect = mark->dialect;
                return 0;
            }
            if (PyErr_Occurred())
                return -1;
        }
        int known = ask(mark->kind, raw, kind);
        if (known) {
            *dialect = mark->dialect;
            return known < 0 ? -1 : 0;
        }
    }
    *dialect = PyTuple_GET_ITEM(self->unknown, 0);
    *kind = Py_NewRef(PyTuple_GET_ITEM(self->unknown, 1));
    return 0;
}

/* Empties the table of ids, and makes room for so many. */
static int
renew(Ids *index, Py_ssize_t count)
{
    ids_clear(index);
    return ids_init(index, count);
}

static int
number_all(Linker *self, PyObject *ordered, Work *work)
{
    Py_ssize_t count = PyList_GET_SIZE(ordered);
    work->numbers = PyMem_Calloc(count + 1, sizeof(PyObject *));
    work->places = PyMem_Malloc((count ? count : 1) * sizeof(Place));
    if (work->numbers == NULL || work->places == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    /* Where the spans came in order, they were numbered then. */
    work->index = self->ordered;
    self->ordered = (Ids){0};
    int numbered = work->index.count == count;
    if (!numbered && renew(&work->index, count) < 0)
        return -1;
    work->numbers[0] = PyLong_FromLong(-1);
    for (Py_ssize_t i = 0; i < count; i++) {
        PyObject *raw = PyList_GET_ITEM(ordered, i);
        if (!Py_IS_TYPE(raw, self->raw_type)) {
            PyErr_SetString(PyExc_TypeError, "link takes a list of spans");
            return -1;
        }
        if (work->numbers[i + 1] == NULL)
            work->numbers[i + 1] = PyLong_FromSsize_t(i);
        PyObject *id = slot(raw, self->span_id);
        if (numbered && work->index.ids[i].id != id) { /* they are others: from the first again */
            if (renew(&work->index, count) < 0)
                return -1;
            numbered = 0;
            i = -1;
            continue;
        }
        int added = work->numbers[i + 1] == NULL || id == NULL ? -1 : numbered || ids_add(&work->index, id);
        if (added != 1) {
            if (!added)
                PyErr_SetString(PyExc_ValueError, "two spans share an id");
            return -1;
        }
    }
    return 0;
}

static int
count_flaws(Linker *self, PyObject *raw, PyObject *attributes, Py_ssize_t limit, Work *work)
{
    int ended = sign_of(slot(raw, self->end_ns)), lost = sign_of(slot(raw, self->dropped));
    if (PyErr_Occurred())
        return -1;
    work->unended += ended <= 0;
    if (lost)
        work->dropped++;
    else {
        Py_ssize_t size = PyObject_Size(attributes);
        if (size < 0)
            return -1;
        work->limited += size == limit;
    }
    return 0;
}

/* Where a span stands in the tree; its index among the roots and the runs is noted, too. */
static int
place(Linker *self, PyObject *raw, Py_ssize_t at, int role, Py_ssize_t *parent, Work *work, PyObject *roots,
      PyObject *runs)
{
    PyObject *above_id = slot(raw, self->parent_id);
    *parent = above_id != NULL && above_id != Py_None ? ids_find(&work->index, above_id) : -1;
    if (*parent < -1)
        return -1;
    Place *own = &work->places[at];
    own->run = own->agent = own->holder = -1;
    own->role = role;
    if (*parent < 0) {
        if (PyList_Append(roots, work->numbers[at + 1]) < 0)
            return -1;
        work->unseen += above_id != Py_None && slot(raw, self->remote) != Py_True;
    }
    else if (*parent < at) {
        const Place *above = &work->places[*parent];
        own->run = above->run;
        own->agent = above->agent;
        own->holder = above->role & HOLDER ? *parent : above->role & AGENT ? -1 : above->holder;
    }
    else
        work->tangled = 1;
    if (role & RUNNER) {
        if (own->run < 0) {
            own->run = at;
            if (PyList_Append(runs, work->numbers[at + 1]) < 0)
                return -1;
        }
        if (role & AGENT)
            own->agent = at;
    }
    return 0;
}

/* What spans of a kind do in the tree; -1 with an exception. */
static int
role_of(Linker *self, PyObject *kind, Work *work)
{
    Known *known = &work->known[((uintptr_t)kind >> 4) % LATELY];
    if (known->kind == kind)
        return known->role;
    PyObject *bits = PyDict_GetItemWithError(self->roles, kind);
    if (bits == NULL && PyErr_Occurred())
        return -1;
    known->role = bits == NULL ? 0 : (int)PyLong_AsLong(bits);
    Py_XSETREF(known->kind, Py_NewRef(kind));
    return known->role;
}

static PyObject *
link_one(Linker *self, PyObject *raw, Py_ssize_t at, Py_ssize_t limit, Work *work, PyObject *roots, PyObject *runs)
{
    PyObject *attributes = slot(raw, self->attributes), *dialect = NULL, *kind = NULL, *pair = NULL, *span = NULL;
    if (attributes != NULL && held_by(attributes) == NULL) {
        PyObject *scope = slot(raw, self->scope);
        if (scope != NULL && Py_IS_TYPE(scope, self->scope_type) &&
            speaker_of(self, scope, slot(scope, self->scope_name), work) == NULL)
            return NULL;
        pair = PyObject_CallOneArg(self->slow, raw);
        if (pair == NULL)
            return NULL;
        if (!PyTuple_CheckExact(pair) || PyTuple_GET_SIZE(pair) != 2) {
            PyErr_SetString(PyExc_TypeError, "classify gives a dialect and a kind");
            goto done;
        }
        dialect = PyTuple_GET_ITEM(pair, 0);
        kind = Py_NewRef(PyTuple_GET_ITEM(pair, 1));
    }
    else if (classify(self, raw, work, &dialect, &kind) < 0)
        goto done;
    int role = role_of(self, kind, work);
    Py_ssize_t parent;
    if (role < 0 || place(self, raw, at, role, &parent, work, roots, runs) < 0)
        goto done;
    if (count_flaws(self, raw, attributes, limit, work) < 0)
        goto done;
    const Place *own = &work->places[at];
    PyObject **numbers = work->numbers + 1;
    PyObject *args[] = {raw,
                        kind,
                        dialect,
                        numbers[at],
                        numbers[parent],
                        numbers[own->run],
                        numbers[own->agent],
                        numbers[own->holder]};
    span = shape_made(&self->span, args, 8);
done:
    Py_XDECREF(kind);
    Py_XDECREF(pair);
    return span;
}

/* link(ordered, limit, pause): spans, roots, runs, whether a parent starts after its child, what `watched` has for the
 * scopes of all, as bits, and four counts: parents unseen, spans not ended, spans that lost something, spans that have `limit` attributes. `pause` is called between
 * small pieces of the work, unless it is None. */
static PyObject *
linker_link(Linker *self, PyObject *const *given, Py_ssize_t number)
{
    if (!were_given("link", number, 3))
        return NULL;
    PyObject *ordered = given[0], *pause = given[2], *result = NULL;
    Py_ssize_t limit = PyLong_AsSsize_t(given[1]);
    if (!PyList_CheckExact(ordered))
        PyErr_SetString(PyExc_TypeError, "link takes a list of spans");
    if (PyErr_Occurred())
        return NULL;
    Work work = {0};
    Py_ssize_t count = PyList_GET_SIZE(ordered);
    PyObject *spans = PyList_New(0), *roots = PyList_New(0), *runs = PyList_New(0);
    if (spans == NULL || roots == NULL || runs == NULL || number_all(self, ordered, &work) < 0)
        goto done;
    for (Py_ssize_t i = -2 * AHEAD; i < 0; i++)
        soon_linked(self, ordered, i);
    for (Py_ssize_t i = 0; i < count; i++) {
        if (pause != Py_None && i % PACE == 0) {
            PyObject *over = PyObject_CallNoArgs(pause);
            if (over == NULL)
                goto done;
            Py_DECREF(over);
        }
        if (PyList_GET_SIZE(ordered) != count) {
            PyErr_SetString(PyExc_RuntimeError, "the list of spans changed while it was linked");
            goto done;
        }
        soon_linked(self, ordered, i);
        PyObject *raw = Py_NewRef(PyList_GET_ITEM(ordered, i));
        PyObject *span = link_one(self, raw, i, limit, &work, roots, runs);
        Py_DECREF(raw);
        if (span == NULL)
            goto done;
        int failed = PyList_Append(spans, span);
        Py_DECREF(span);
        if (failed < 0)
            goto done;
    }
    result = Py_BuildValue("(OOOOLnnnn)", spans, roots, runs, work.tangled ? Py_True : Py_False, work.heard,
                           work.unseen, work.unended, work.dropped, work.limited);
done:
    Py_XDECREF(spans);
    Py_XDECREF(roots);
    Py_XDECREF(runs);
    ids_clear(&work.index);
    for (int i = 0; i < LATELY; i++) {
        Py_XDECREF(work.known[i].kind);
        Py_XDECREF(work.speakers[i].scope);
    }
    for (Py_ssize_t i = 0; work.numbers != NULL && i <= count; i++)
        Py_XDECREF(work.numbers[i]);
    PyMem_Free(work.numbers);
    PyMem_Free(work.places);
    return result;
}

static PyMethodDef linker_methods[] = {
    {"order", (PyCFunction)linker_order, METH_O, "The spans by start; None where that takes a closer look."},
    {"link", ON_THE_STACK(linker_link), "The spans' places in the tree."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot linker_slots[] = {
    {Py_tp_new, linker_new},
    {Py_tp_dealloc, linker_dealloc},
    {Py_tp_methods, linker_methods},
    {Py_tp_doc, "Puts spans in order and links them."},
    {0, NULL},
};

static PyType_Spec linker_spec = {
    .name = "spanwise.native._core.Linker",
    .basicsize = sizeof(Linker),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = linker_slots,
};

int
add_link(PyObject *module)
{
    return ids_begin() < 0 ? -1 : add_type(module, &linker_spec);
}
