/* Whether the calls of a run take a closer look than what their spans say: some start at once, or some model was told of
 * a call that was refused. The twin of `_start_together` in assembly/calls.py and of `tells_refusals` in asked.py.
 */
#include "facts.h"
#include "late.h"

/* Agents are told apart whose spans stand no further on in a trace. */
#define MOST_AGENTS ((long long)1 << 24)

int
refusals_take(Refusals *self, PyObject *said)
{
    if (!PyArg_ParseTuple(said, "O!UU:refusals", &PyFrozenSet_Type, &self->scopes, &self->attribute, &self->words)) {
        *self = (Refusals){0};
        return -1;
    }
    Py_INCREF(self->scopes);
    Py_INCREF(self->attribute);
    Py_INCREF(self->words);
    return 0;
}

void
refusals_clear(Refusals *self)
{
    Py_CLEAR(self->scopes);
    Py_CLEAR(self->attribute);
    Py_CLEAR(self->words);
}

/* Whether a span is of a scope that leaves refused calls out; DOUBT, or -1 with an exception. */
static int
leaves_out(FactReader *self, PyObject *raw)
{
    PyObject *scope = slot(raw, self->scope);
    PyObject *name = scope != NULL && Py_IS_TYPE(scope, self->scope_type) ? slot(scope, self->scope_name) : NULL;
    return name != NULL && PyUnicode_CheckExact(name) ? PySet_Contains(self->refusals.scopes, name) : DOUBT;
}

/* The raw span of a group's first span, borrowed, and that span's agent; NULL where that is in doubt. */
static PyObject *
first_of(FactReader *self, PyObject *group, long long *agent)
{
    if ((!PyList_CheckExact(group) && !PyTuple_CheckExact(group)) || !PySequence_Fast_GET_SIZE(group))
        return NULL;
    PyObject *span = PySequence_Fast_GET_ITEM(group, 0), *raw = facts_raw(self, span);
    return raw != NULL && is_whole(slot(span, self->agent), agent) ? raw : NULL;
}

/* Whether what a model was sent tells of a refusal; DOUBT, or -1 with an exception. */
static int
tells_refusal(FactReader *self, PyObject *raw)
{
    int left_out = leaves_out(self, raw);
    if (left_out != 1)
        return left_out;
    PyObject *attributes = slot(raw, self->attributes);
    if (attributes == NULL || held_by(attributes) == NULL)
        return DOUBT;
    PyObject *text = attribute_of(attributes, self->refusals.attribute);
    /* From the end: of long text without the words CPython skips more that way. */
    Py_ssize_t at = -1;
    if (text != NULL && PyUnicode_Check(text))
        at = PyUnicode_Find(text, self->refusals.words, 0, PyUnicode_GET_LENGTH(text), -1);
    Py_XDECREF(text);
    return PyErr_Occurred() ? -1 : at >= 0;
}

int
were_refused(FactReader *self, PyObject *groups)
{
    Py_ssize_t count = PySequence_Fast_GET_SIZE(groups);
    long long agent, last = -1;
    PyObject *raw = count ? first_of(self, PySequence_Fast_GET_ITEM(groups, 0), &agent) : NULL;
    int found = raw == NULL ? DOUBT : leaves_out(self, raw);
    if (found != 1)
        return found;
    for (Py_ssize_t i = 0; i < count; i++) {
        if (first_of(self, PySequence_Fast_GET_ITEM(groups, i), &agent) == NULL || agent < -1 || agent > MOST_AGENTS)
            return DOUBT;
        last = agent > last ? agent : last;
    }
    char *seen = PyMem_Calloc((size_t)last + 2, 1);
    if (seen == NULL)
        return PyErr_NoMemory(), -1;
    found = 0;
    for (Py_ssize_t i = count - 1; i >= 0 && !found; i--) {
        raw = first_of(self, PySequence_Fast_GET_ITEM(groups, i), &agent);
        if (!seen[agent + 1]++)
            found = tells_refusal(self, raw);
    }
    PyMem_Free(seen);
    return found;
}

int
start_apart(FactReader *self, PyObject *calls)
{
    long long before = 0, start;
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(calls); i++, before = start) {
        PyObject *call = PyList_GET_ITEM(calls, i);
        if (!Py_IS_TYPE(call, self->tool_call.type) || !is_whole(slot(call, self->call_start), &start))
            return DOUBT;
        if (i && start <= before)
            return start == before ? 0 : DOUBT;
    }
    return 1;
}
