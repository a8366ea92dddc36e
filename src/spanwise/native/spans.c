/* Spans: a run's spans by kind, those of models by call, and as numbers for what its time went by on.
 *
 * The twin of `by_kind` in model/trace.py, of `_calls_of` in model/clients.py where each span is a call, and of what
 * `_walked` in model/critical_path.py reads: of a run whose spans all ended and hang below each other, with times of 62
 * bits.
 */
#include "path.h"
#include "ahead.h"

#define PACE 512
#define LATEST ((int64_t)1 << 62)

typedef struct {
    PyObject_HEAD
    PyTypeObject *raw_type;
    PyTypeObject *span_type;
    PyTypeObject *scope_type;
    Py_ssize_t raw, kind, index, parent, holder, start_ns, end_ns, scope, scope_name;
    PyObject *roles; /* a dict: kind -> RUNNER or MODEL */
} Spans;

static void
spans_dealloc(Spans *self)
{
    PyTypeObject *type = Py_TYPE(self);
    Py_XDECREF(self->raw_type);
    Py_XDECREF(self->span_type);
    Py_XDECREF(self->scope_type);
    Py_XDECREF(self->roles);
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

static PyObject *
spans_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"raw", "span", "scope", "roles", NULL};
    PyTypeObject *raw, *span, *scope;
    PyObject *roles;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!:Spans", names, &PyType_Type, &raw, &PyType_Type, &span,
                                     &PyType_Type, &scope, &PyDict_Type, &roles))
        return NULL;
    Spans *self = (Spans *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->raw_type = (PyTypeObject *)Py_NewRef((PyObject *)raw);
    self->span_type = (PyTypeObject *)Py_NewRef((PyObject *)span);
    self->scope_type = (PyTypeObject *)Py_NewRef((PyObject *)scope);
    self->roles = Py_NewRef(roles);
    struct {
        PyTypeObject *of;
        const char *field;
        Py_ssize_t *at;
    } places[] = {
        {raw, "start_ns", &self->start_ns}, {raw, "end_ns", &self->end_ns}, {span, "raw", &self->raw},
        {span, "kind", &self->kind},        {span, "index", &self->index},  {span, "parent", &self->parent},
        {span, "holder", &self->holder},    {raw, "scope", &self->scope},   {scope, "name", &self->scope_name},
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        *places[i].at = slot_of(places[i].of, places[i].field);
        if (*places[i].at < 0) {
            Py_DECREF(self);
            return NULL;
        }
    }
    return (PyObject *)self;
}

static int
is_time(PyObject *value, int64_t *number)
{
    long long found;
    if (!is_whole(value, &found))
        return 0;
    *number = found;
    return found >= 0 && found < LATEST;
}

static int
is_place(PyObject *value, Py_ssize_t *number)
{
    long long found;
    if (!is_whole(value, &found))
        return 0;
    *number = (Py_ssize_t)found;
    return found >= -1 && found < PY_SSIZE_T_MAX;
}

/* The place of the span with an index; -1 where the run has none. */
static Py_ssize_t
place_of(const Walk *walk, Py_ssize_t index)
{
    const Step *steps = walk->steps;
    Py_ssize_t low = 0, high = walk->count;
    if (!high || index < steps[0].index || index > steps[high - 1].index)
        return -1;
    if (steps[high - 1].index - steps[0].index == high - 1)
        return index - steps[0].index;
    while (high - low > 1) {
        Py_ssize_t middle = low + (high - low) / 2;
        if (steps[middle].index <= index)
            low = middle;
        else
            high = middle;
    }
    return steps[low].index == index ? low : -1;
}

/* Takes the numbers out of one span. 1: done; 0: it takes the twin; -1: an exception. */
static int
load_one(Spans *self, PyObject *span, Step *step)
{
    PyObject *raw, *kind;
    if (!Py_IS_TYPE(span, self->span_type) || (raw = slot(span, self->raw)) == NULL || !Py_IS_TYPE(raw, self->raw_type))
        return 0;
    if (!is_time(slot(raw, self->start_ns), &step->start) || !is_time(slot(raw, self->end_ns), &step->end)
        || !is_place(slot(span, self->index), &step->index) || !is_place(slot(span, self->parent), &step->parent))
        return 0;
    kind = slot(span, self->kind);
    if (step->end == 0 || step->index < 0 || kind == NULL || !PyUnicode_CheckExact(kind))
        return 0;
    PyObject *role = PyDict_GetItemWithError(self->roles, kind);
    if (role == NULL && PyErr_Occurred())
        return -1;
    step->bits = role == NULL ? 0 : (int)PyLong_AsLong(role) & (RUNNER | MODEL);
    return 1;
}

/* Calls `pause`, if there is one, before each PACE-th item of a list that must stay as long as it is. */
static int
breathe(PyObject *pause, Py_ssize_t at, PyObject *listed, Py_ssize_t count)
{
    if (pause != Py_None && at % PACE == 0) {
        PyObject *over = PyObject_CallNoArgs(pause);
        if (over == NULL)
            return -1;
        Py_DECREF(over);
    }
    if (PyList_GET_SIZE(listed) != count) {
        PyErr_SetString(PyExc_RuntimeError, "the list of spans changed while it was read");
        return -1;
    }
    return 0;
}

static int
load(Spans *self, PyObject *spans, Py_ssize_t root, PyObject *pause, Walk *walk)
{
    Step *steps = walk->steps;
    for (Py_ssize_t i = 0; i < walk->count; i++) {
        if (breathe(pause, i, spans, walk->count) < 0)
            return -1;
        int taken = load_one(self, PyList_GET_ITEM(spans, i), &steps[i]);
        if (taken <= 0)
            return taken;
        if (i && (steps[i].index <= steps[i - 1].index || steps[i].start < steps[i - 1].start))
            return 0;
        walk->models |= steps[i].bits & MODEL;
    }
    walk->root = root < 0 ? walk->count : place_of(walk, root);
    if (walk->root < 0 || steps[walk->root].bits & MODEL)
        return 0;
    for (Py_ssize_t i = 0; i < walk->count; i++) {
        if (i % (PACE * 8) == 0 && breathe(pause, i, spans, walk->count) < 0)
            return -1;
        if (i == walk->root)
            continue;
        /* What lost its parent hangs below the run. */
        steps[i].parent = steps[i].parent < 0 ? walk->root : place_of(walk, steps[i].parent);
        if (steps[i].parent < 0)
            return 0;
    }
    return 1;
}

/* Notes which spans are calls; what is no span of the run is none. */
static int
mark(Walk *walk, PyObject *calls, int bit)
{
    PyObject *key, *value;
    Py_ssize_t at = 0, index;
    while (PyDict_Next(calls, &at, &key, &value)) {
        if (!is_place(key, &index))
            return 0;
        Py_ssize_t place = place_of(walk, index);
        if (place >= 0 && place != walk->root) {
            walk->steps[place].bits |= bit;
            walk->lossy = 1;
        }
    }
    return 1;
}

/* walk(spans, root, begin, end, named, longer, failed, repeated, pause): what `_walked` gives; None where it takes a
 * closer look. `longer` is None where gaps are not judged, `pause` where nobody wants one. */
static PyObject *
spans_walk(Spans *self, PyObject *args)
{
    PyObject *spans, *begin, *end, *longer, *failed, *repeated, *pause, *found = NULL;
    Py_ssize_t root, named;
    if (!PyArg_ParseTuple(args, "OnOOnOO!O!O:walk", &spans, &root, &begin, &end, &named, &longer, &PyDict_Type, &failed,
                          &PyDict_Type, &repeated, &pause))
        return NULL;
    if (!PyList_CheckExact(spans))
        Py_RETURN_NONE;
    Walk walk = {.count = PyList_GET_SIZE(spans)};
    int64_t shortest = -1;
    if (named < 1 || named > MOST || !is_time(begin, &walk.begin) || !is_time(end, &walk.end) || walk.end <= walk.begin
        || (longer != Py_None && !is_time(longer, &shortest)))
        Py_RETURN_NONE;
    walk.steps = PyMem_Calloc((size_t)walk.count + 1, sizeof(Step));
    walk.children = PyMem_Calloc((size_t)walk.count + 1, sizeof(Child));
    walk.frames = PyMem_Calloc((size_t)walk.count + 1, sizeof(Frame));
    if (walk.steps == NULL || walk.children == NULL || walk.frames == NULL)
        PyErr_NoMemory();
    else {
        int taken = load(self, spans, root, pause, &walk);
        if (taken > 0 && mark(&walk, failed, FAILED) && mark(&walk, repeated, REPEATED))
            found = walk_path(&walk, named, shortest);
        else if (taken >= 0)
            found = Py_NewRef(Py_None);
    }
    PyMem_Free(walk.steps);
    PyMem_Free(walk.children);
    PyMem_Free(walk.frames);
    return found;
}

/* kinds(spans, pause): the spans by kind, in their order; None where it takes a closer look. */
static PyObject *
spans_kinds(Spans *self, PyObject *const *given, Py_ssize_t number)
{
    if (!were_given("kinds", number, 2))
        return NULL;
    PyObject *spans = given[0], *pause = given[1];
    if (!PyList_CheckExact(spans))
        Py_RETURN_NONE;
    Py_ssize_t count = PyList_GET_SIZE(spans);
    PyObject *table = PyDict_New();
    struct {
        PyObject *kind, *listed;
    } known[LATELY] = {{NULL, NULL}}; /* what the table holds, by where a kind lies in memory */
    for (Py_ssize_t i = 0; table != NULL && i < count; i++) {
        if (breathe(pause, i, spans, count) < 0)
            goto fail;
        PyObject *span = PyList_GET_ITEM(spans, i);
        PyObject *kind = Py_IS_TYPE(span, self->span_type) ? slot(span, self->kind) : NULL;
        size_t at = ((size_t)kind >> 4) % LATELY;
        if (kind != NULL && known[at].kind == kind) {
            if (PyList_Append(known[at].listed, span) < 0)
                goto fail;
            continue;
        }
        if (kind == NULL || !PyUnicode_CheckExact(kind)) {
            Py_DECREF(table);
            Py_RETURN_NONE;
        }
        PyObject *listed = PyDict_GetItemWithError(table, kind);
        if (listed != NULL) {
            if (PyList_Append(listed, span) < 0)
                goto fail;
            continue;
        }
        if (PyErr_Occurred())
            goto fail;
        /* To make a list may collect garbage, whose end may change anything. */
        Py_INCREF(kind);
        Py_INCREF(span);
        listed = PyList_New(0);
        int failed = listed == NULL || PyList_Append(listed, span) < 0 || PyDict_SetItem(table, kind, listed) < 0;
        known[at].kind = failed ? NULL : kind;
        known[at].listed = listed;
        Py_XDECREF(listed);
        Py_DECREF(span);
        Py_DECREF(kind);
        if (failed)
            goto fail;
    }
    return table;
fail:
    Py_XDECREF(table);
    return NULL;
}

/* The kind of a span as a role; -1 where that takes a closer look, with an exception or without. */
static int
role_of(Spans *self, PyObject *span)
{
    PyObject *kind = Py_IS_TYPE(span, self->span_type) ? slot(span, self->kind) : NULL;
    if (kind == NULL || !PyUnicode_CheckExact(kind))
        return -1;
    PyObject *role = PyDict_GetItemWithError(self->roles, kind);
    return role != NULL ? (int)PyLong_AsLong(role) : PyErr_Occurred() ? -1 : 0;
}

/* Whether a span of a model is a call of its own: it lies in no other call, and its scope bears this name, which is
 * that of the first; -1 with an exception. */
static int
is_one_call(Spans *self, PyObject *span, PyObject *spans, PyObject **name)
{
    PyObject *raw = Py_IS_TYPE(span, self->span_type) ? slot(span, self->raw) : NULL;
    PyObject *scope = raw != NULL && Py_IS_TYPE(raw, self->raw_type) ? slot(raw, self->scope) : NULL;
    PyObject *own = scope != NULL && Py_IS_TYPE(scope, self->scope_type) ? slot(scope, self->scope_name) : NULL;
    Py_ssize_t holder;
    if (own == NULL || !PyUnicode_CheckExact(own) || !is_place(slot(span, self->holder), &holder))
        return 0;
    if (*name == NULL)
        *name = Py_NewRef(own);
    if (own != *name && PyUnicode_Compare(own, *name) != 0)
        return PyErr_Occurred() ? -1 : 0;
    if (holder < 0)
        return 1;
    int role = holder < PyList_GET_SIZE(spans) ? role_of(self, PyList_GET_ITEM(spans, holder)) : -1;
    return role < 0 ? (PyErr_Occurred() ? -1 : 0) : !(role & MODEL);
}

/* Asks for the raw span of the span at a place. */
ASKING
soon_called(Spans *self, PyObject *members, Py_ssize_t at)
{
    PyObject *span = at < PyList_GET_SIZE(members) ? PyList_GET_ITEM(members, at) : NULL;
    PyObject *raw = span != NULL && Py_IS_TYPE(span, self->span_type) ? slot(span, self->raw) : NULL;
    if (raw != NULL)
        soon_whole(raw);
}

/* calls(members, spans): each of these spans of models in a list of its own, where each is a call of its own; else
 * None. `spans` are those of the trace. */
static PyObject *
spans_calls(Spans *self, PyObject *const *given, Py_ssize_t number)
{
    if (!were_given("calls", number, 2))
        return NULL;
    PyObject *members = given[0], *spans = given[1], *name = NULL;
    if (!PyList_CheckExact(members) || !PyList_CheckExact(spans))
        Py_RETURN_NONE;
    PyObject *found = PyList_New(0);
    int alone = found == NULL ? -1 : 1;
    for (Py_ssize_t i = 0; i < AHEAD; i++)
        soon_called(self, members, i);
    for (Py_ssize_t i = 0; alone == 1 && i < PyList_GET_SIZE(members); i++) {
        soon_called(self, members, i + AHEAD);
        PyObject *span = Py_NewRef(PyList_GET_ITEM(members, i));
        alone = is_one_call(self, span, spans, &name);
        PyObject *group = alone == 1 ? PyList_New(1) : NULL;
        if (group != NULL)
            PyList_SET_ITEM(group, 0, Py_NewRef(span));
        if (alone == 1 && (group == NULL || PyList_Append(found, group) < 0))
            alone = -1;
        Py_XDECREF(group);
        Py_DECREF(span);
    }
    Py_XDECREF(name);
    if (alone == 1)
        return found;
    Py_XDECREF(found);
    return alone < 0 ? NULL : Py_NewRef(Py_None);
}

static PyMethodDef methods[] = {
    {"walk", (PyCFunction)spans_walk, METH_VARARGS, "What a run's time went by on."},
    {"kinds", ON_THE_STACK(spans_kinds), "The spans by kind."},
    {"calls", ON_THE_STACK(spans_calls), "The spans of models, each as a call of its own."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot slots[] = {
    {Py_tp_new, spans_new},
    {Py_tp_dealloc, spans_dealloc},
    {Py_tp_methods, methods},
    {Py_tp_doc, "Reads what evaluators ask of a run's spans."},
    {0, NULL},
};

static PyType_Spec spec = {
    .name = "spanwise.native._core.Spans",
    .basicsize = sizeof(Spans),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = slots,
};

int
add_spans(PyObject *module)
{
    return add_type(module, &spec);
}
