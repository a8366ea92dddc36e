/* The calls of tools that left plain spans: the twin of what assembly/spanned.py makes of the same spans. */
#include "facts.h"

enum { NAME, ARGUMENTS, RESULT, CALL_ID, FLAGS };

typedef struct {
    PyObject *spans; /* of the trace, a list or a tuple */
    PyObject *memo;
    PyObject *calls;    /* a list: what was found so far */
    PyObject *by_span;  /* a dict: the call of each span, by its number */
    PyObject *controls; /* a dict: by name whether a tool steers the run */
    LastScope last;
} Work;

void
tool_rule_clear(ToolRule *rule)
{
    fields_clear(&rule->fields);
    Py_XDECREF(rule->scopes);
    Py_XDECREF(rule->names);
    Py_XDECREF(rule->ids);
    Py_XDECREF(rule->titles);
    Py_XDECREF(rule->beginnings);
    Py_XDECREF(rule->result);
    Py_XDECREF(rule->failure);
    Py_XDECREF(rule->keys);
}

static int
take_beginnings(ToolRule *rule)
{
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rule->beginnings); i++) {
        PyObject *text = PyTuple_GET_ITEM(rule->beginnings, i);
        Py_UCS4 code = PyUnicode_Check(text) && PyUnicode_GET_LENGTH(text) ? PyUnicode_READ_CHAR(text, 0) : 128;
        if (code > 127) {
            PyErr_SetString(PyExc_ValueError, "a result's beginning is text that begins in ASCII");
            return -1;
        }
        rule->first[code >> 6] |= (uint64_t)1 << (code & 63);
    }
    return 0;
}

int
tool_rule_take(ToolRule *rule, PyObject *said)
{
    PyObject *fields;
    if (!PyArg_ParseTuple(said, "O!O!O!O!O!O!OOOp:tool", &PyTuple_Type, &fields, &PyFrozenSet_Type, &rule->scopes,
                          &PyFrozenSet_Type, &rule->names, &PyFrozenSet_Type, &rule->ids, &PyTuple_Type, &rule->titles,
                          &PyTuple_Type, &rule->beginnings, &rule->result, &rule->failure, &rule->keys, &rule->whole)) {
        *rule = (ToolRule){0};
        return -1;
    }
    Py_INCREF(rule->scopes);
    Py_INCREF(rule->names);
    Py_INCREF(rule->ids);
    Py_INCREF(rule->titles);
    Py_INCREF(rule->beginnings);
    Py_INCREF(rule->result);
    Py_INCREF(rule->failure);
    Py_INCREF(rule->keys);
    if (fields_take(&rule->fields, fields) < 0 || take_beginnings(rule) < 0)
        return -1;
    if (rule->fields.count < FLAGS || (rule->keys != Py_None && !PyFrozenSet_CheckExact(rule->keys))) {
        PyErr_SetString(PyExc_ValueError, "a tool has a name, arguments, a result and an id; names are a frozenset");
        return -1;
    }
    return rule->keys == Py_None ? 0 : flat_rule_take(&rule->flat, rule->keys);
}

/* Whether the letters before a place are these small ones. */
static int
ends_in(int kind, const void *letters, Py_ssize_t end, const char *word)
{
    Py_ssize_t size = (Py_ssize_t)strlen(word);
    if (end < size)
        return 0;
    for (Py_ssize_t i = 0; i < size; i++)
        if ((PyUnicode_READ(kind, letters, end - size + i) | 0x20) != (Py_UCS4)word[i])
            return 0;
    return 1;
}

/* Whether a text may call itself a failure; where not, `says_error` says that it does not. */
static int
may_fail(FactReader *self, PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text), end = 0;
    int kind = PyUnicode_KIND(text);
    const void *letters = PyUnicode_DATA(text);
    if (size && PyUnicode_READ(kind, letters, 0) == '{')
        return PyUnicode_Find(text, self->mark_of_error, 0, size, 1) >= 0;
    for (; end < size; end++) {
        Py_UCS4 code = PyUnicode_READ(kind, letters, end);
        if (code > 127)
            return 1;
        if (!Py_ISALNUM(code) && code != '_')
            break;
    }
    return ends_in(kind, letters, end, "error") || ends_in(kind, letters, end, "exception") ||
           ends_in(kind, letters, end, "fatal") || ends_in(kind, letters, end, "traceback");
}

static int
says_error(FactReader *self, PyObject *result)
{
    if (result == Py_None || (PyUnicode_CheckExact(result) && !may_fail(self, result)))
        return 0;
    PyObject *said = PyObject_CallOneArg(self->failure, result);
    if (said == NULL)
        return -1;
    int failed = PyObject_IsTrue(said);
    Py_DECREF(said);
    return failed;
}

/* Whether a text begins in one of those ways, behind white space or at once. */
static int
begins(const ToolRule *rule, PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text), at = 0;
    Py_UCS4 code = 0;
    for (; at < size; at++) {
        code = PyUnicode_READ_CHAR(text, at);
        if (code != ' ' && code != '\n' && code != '\r' && code != '\t')
            break;
    }
    if (at == size || code > 127 || !(rule->first[code >> 6] >> (code & 63) & 1))
        return 0;
    for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(rule->beginnings); i++) {
        int found = (int)PyUnicode_Tailmatch(text, PyTuple_GET_ITEM(rule->beginnings, i), at, size, -1);
        if (found)
            return found;
    }
    return 0;
}

/* 1: a plain result, which may have been put in the place of what was recorded; 0: any other; -1: an exception. */
static int
take_result(FactReader *self, const ToolRule *rule, Work *work, PyObject **result, int has_failed)
{
    if (*result == Py_None)
        return !rule->whole;
    if (!PyUnicode_CheckExact(*result))
        return 0;
    int more = begins(rule, *result);
    if (more < 0 || (more && rule->result == Py_None))
        return more < 0 ? -1 : 0;
    if (more) {
        PyObject *args[] = {*result, work->memo}, *read = PyObject_Vectorcall(rule->result, args, 2, NULL);
        if (read == NULL)
            return -1;
        Py_SETREF(*result, read);
        if (read == Py_None)
            return 0;
    }
    int failed = has_failed ? 0 : says_error(self, *result);
    return failed < 0 ? -1 : !failed;
}

/* The same of arguments, which are those of a JSON object of which nothing has to be left out: they stay as they are. */
static int
take_arguments(FactReader *self, const ToolRule *rule, Work *work, PyObject *arguments)
{
    if (arguments == Py_None)
        return !rule->whole;
    if (rule->keys == Py_None)
        return 1;
    if (!PyUnicode_CheckExact(arguments) || !PyUnicode_GET_LENGTH(arguments) || PyUnicode_READ_CHAR(arguments, 0) != '{')
        return 0;
    return arguments_are_plain(self, rule, work->memo, arguments);
}

static int
is_among(PyObject *set, PyObject *text)
{
    return PySet_GET_SIZE(set) ? PySet_Contains(set, text) : 0;
}

/* Whether all that a span says of its call is plain; -1 with an exception. */
static int
take_values(FactReader *self, const ToolRule *rule, Work *work, PyObject **values, int failed)
{
    if (!PyUnicode_CheckExact(values[NAME]))
        return 0;
    int odd = is_among(rule->names, values[NAME]);
    if (!odd && values[CALL_ID] != Py_None)
        odd = PyUnicode_CheckExact(values[CALL_ID]) ? is_among(rule->ids, values[CALL_ID]) : 1;
    else if (!odd)
        odd = rule->whole;
    if (odd)
        return odd < 0 ? -1 : 0;
    for (Py_ssize_t i = FLAGS; i < rule->fields.count; i++)
        if (values[i] != Py_False && !(PyUnicode_CheckExact(values[i]) && !PyUnicode_GET_LENGTH(values[i])))
            return 0;
    /* What is missing may stand in the events of a span that failed. */
    int missing = (values[ARGUMENTS] == Py_None) + (values[RESULT] == Py_None);
    if (missing > !failed)
        return 0;
    int plain = take_result(self, rule, work, &values[RESULT], failed);
    return plain == 1 ? take_arguments(self, rule, work, values[ARGUMENTS]) : plain;
}

/* Whether an enclosing tool's span may be the outer half of the same call. */
static int
is_inner(FactReader *self, Work *work, PyObject *span, PyObject *name)
{
    long long at;
    for (int hops = 0; hops < 16; hops++) {
        if (!is_whole(slot(span, self->holder), &at))
            return 1;
        if (at < 0)
            return 0;
        if (at >= PySequence_Fast_GET_SIZE(work->spans))
            return 1;
        span = PySequence_Fast_GET_ITEM(work->spans, (Py_ssize_t)at);
        PyObject *kind = Py_IS_TYPE(span, self->span_type) ? slot(span, self->kind) : NULL;
        if (kind == NULL || !PyUnicode_CheckExact(kind))
            return 1;
        if (PyUnicode_CompareWithASCIIString(kind, "tool") == 0) {
            PyObject *number = slot(span, self->index);
            PyObject *call = number == NULL || !PyLong_CheckExact(number)
                                 ? NULL
                                 : PyDict_GetItemWithError(work->by_span, number);
            if (call == NULL)
                return PyErr_Occurred() ? -1 : 0;
            PyObject *outer = Py_IS_TYPE(call, self->tool_call.type) ? slot(call, self->call_name) : NULL;
            return outer == NULL || !PyUnicode_CheckExact(outer) || PyUnicode_Compare(outer, name) == 0;
        }
    }
    return 0;
}

/* Whether a tool of this name steers the run: borrowed; NULL with an exception. */
static PyObject *
control_of(FactReader *self, Work *work, PyObject *name)
{
    PyObject *found = PyDict_GetItemWithError(work->controls, name);
    if (found != NULL || PyErr_Occurred())
        return found;
    found = PyObject_CallOneArg(self->control, name);
    if (found == NULL)
        return NULL;
    int failed = PyDict_SetItem(work->controls, name, found);
    Py_DECREF(found);
    return failed < 0 ? NULL : found;
}

/* Adds the call of a span whose values are plain; `error` is None for one that did not fail. */
static int
add(FactReader *self, Work *work, PyObject *span, PyObject *raw, PyObject **values, PyObject *error)
{
    long long start, end;
    PyObject *control = control_of(self, work, values[NAME]), *number = slot(span, self->index);
    if (control == NULL)
        return -1;
    if (!is_whole(slot(raw, self->start_ns), &start) || !is_whole(slot(raw, self->end_ns), &end) ||
        number == NULL || slot(span, self->agent) == NULL || slot(raw, self->span_id) == NULL)
        return 0;
    PyObject *args[] = {values[NAME],
                        error == Py_None ? self->ok : self->error,
                        number,
                        slot(span, self->agent),
                        slot(raw, self->start_ns),
                        end > start ? slot(raw, self->end_ns) : slot(raw, self->start_ns),
                        values[CALL_ID],
                        control,
                        self->from_span,
                        values[ARGUMENTS],
                        values[RESULT],
                        work->memo,
                        slot(raw, self->span_id),
                        error};
    PyObject *call = shape_made(&self->tool_call, args, sizeof(args) / sizeof(args[0]));
    if (call == NULL)
        return -1;
    int failed = PyList_Append(work->calls, call) < 0 || PyDict_SetItem(work->by_span, number, call) < 0;
    Py_DECREF(call);
    return failed ? -1 : 1;
}

/* 1: what a failed span says of its failure, a new reference; 0: it takes a closer look; -1: an exception. */
static int
take_failure(const ToolRule *rule, PyObject *raw, PyObject *result, PyObject **error)
{
    PyObject *said = rule->failure == Py_None ? Py_NewRef(Py_None)
                                              : PyObject_CallFunctionObjArgs(rule->failure, raw, result, NULL);
    if (said == NULL)
        return -1;
    if (said == Py_None) {
        Py_DECREF(said);
        return 0;
    }
    *error = said;
    return 1;
}

/* 1: the span is plain, and its call was added; 0: it takes a closer look; -1: an exception. */
static int
take(FactReader *self, Work *work, PyObject *span, PyObject *raw)
{
    Py_ssize_t dialect = facts_dialect(self, span);
    const ToolRule *rule = dialect < 0 ? NULL : self->tools[dialect];
    PyObject *attributes = NULL, *values[MOST_FIELDS], *error = Py_None;
    int failed = 0, plain = rule != NULL;
    if (plain)
        plain = facts_plain(self, raw, rule->scopes, rule, &work->last, &attributes, &failed);
    for (Py_ssize_t i = 0; plain == 1 && i < PyTuple_GET_SIZE(rule->titles); i++) {
        PyObject *title = slot(raw, self->name);
        plain = title != NULL && PyUnicode_Check(title) &&
                PyUnicode_Tailmatch(title, PyTuple_GET_ITEM(rule->titles, i), 0, PY_SSIZE_T_MAX, 1) == 0;
    }
    if (plain == 1 && fields_read(&rule->fields, attributes, values) < 0)
        plain = -1;
    Py_XDECREF(attributes);
    if (plain != 1)
        return plain;
    plain = take_values(self, rule, work, values, failed);
    if (plain == 1) {
        plain = is_inner(self, work, span, values[NAME]);
        plain = plain < 0 ? -1 : !plain;
    }
    if (plain == 1 && failed)
        plain = take_failure(rule, raw, values[RESULT], &error);
    if (plain == 1)
        plain = add(self, work, span, raw, values, error);
    if (error != Py_None)
        Py_DECREF(error);
    for (Py_ssize_t i = 0; i < rule->fields.count; i++)
        Py_DECREF(values[i]);
    return plain;
}

/* tool_calls(tools, spans, memo, calls, by_span, slow, pause): adds the calls of these of the trace's spans to `calls`
 * and to `by_span`; `slow` is given each span that takes a closer look. */
PyObject *
facts_tool_calls(FactReader *self, PyObject *const *given, Py_ssize_t number)
{
    if (!were_given("tool_calls", number, 7))
        return NULL;
    Work work = {.memo = given[2], .calls = given[3], .by_span = given[4]};
    PyObject *slow = given[5], *pause = given[6];
    if (!PyList_CheckExact(work.calls) || !PyDict_CheckExact(work.by_span)) {
        PyErr_SetString(PyExc_TypeError, "tool_calls adds to a list, and to a dict");
        return NULL;
    }
    PyObject *tools = PySequence_Fast(given[0], "the tools' spans are a sequence");
    work.spans = PySequence_Fast(given[1], "the spans are a sequence");
    work.controls = PyDict_New();
    int ready = tools != NULL && work.spans != NULL && work.controls != NULL;
    Py_ssize_t count = ready ? PySequence_Fast_GET_SIZE(tools) : 0;
    for (Py_ssize_t at = 0; at < count; at++) {
        if (facts_pace(pause, tools, count, at) < 0)
            break;
        facts_soon(self, tools, at, (void *const *)self->tools);
        PyObject *span = Py_NewRef(PySequence_Fast_GET_ITEM(tools, at)), *raw = Py_XNewRef(facts_raw(self, span));
        int taken = raw == NULL ? 0 : take(self, &work, span, raw);
        if (taken == 0) {
            PyObject *over = PyObject_CallOneArg(slow, span);
            taken = over == NULL ? -1 : 1;
            Py_XDECREF(over);
        }
        Py_XDECREF(raw);
        Py_DECREF(span);
        if (taken < 0)
            break;
    }
    Py_XDECREF(tools);
    Py_XDECREF(work.spans);
    Py_XDECREF(work.last.scope);
    Py_XDECREF(work.controls);
    return PyErr_Occurred() ? NULL : Py_NewRef(Py_None);
}
