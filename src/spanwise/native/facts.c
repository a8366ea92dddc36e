/* FactReader: the calls of tools and models that left plain spans, made in one go: see facts.h for what is plain. */
#include "facts.h"
#include "ahead.h"

/* So many fields of a span, the first ones, hold text that was not looked at yet. */
#define FIELDS_AHEAD 4

PyObject *
facts_raw(FactReader *self, PyObject *span)
{
    PyObject *raw = Py_IS_TYPE(span, self->span_type) ? slot(span, self->raw) : NULL;
    return raw != NULL && Py_IS_TYPE(raw, self->raw_type) ? raw : NULL;
}

Py_ssize_t
facts_dialect(FactReader *self, PyObject *span)
{
    long long found;
    return is_whole(slot(span, self->dialect), &found) && found >= 0 && found < self->count ? (Py_ssize_t)found : -1;
}

/* Whether a scope is one of those; what was found for the last one is remembered, for most spans share theirs. */
static int
is_odd_scope(FactReader *self, PyObject *scope, PyObject *scopes, const void *rule, LastScope *last)
{
    if (scope == last->scope && rule == last->rule)
        return last->odd;
    PyObject *name = Py_IS_TYPE(scope, self->scope_type) ? slot(scope, self->scope_name) : NULL;
    int odd = name != NULL && PyUnicode_CheckExact(name) ? PySet_Contains(scopes, name) : 1;
    if (odd >= 0) {
        Py_XSETREF(last->scope, Py_NewRef(scope));
        last->rule = rule;
        last->odd = odd;
    }
    return odd;
}

int
facts_attributes(FactReader *self, PyObject *raw, PyObject *scopes, const void *rule, LastScope *last,
                 PyObject **attributes)
{
    PyObject *held = slot(raw, self->attributes), *scope = slot(raw, self->scope);
    if (held == NULL || !PyDict_CheckExact(held) || scope == NULL)
        return 0;
    int odd = is_odd_scope(self, scope, scopes, rule, last);
    if (odd)
        return odd < 0 ? -1 : 0;
    *attributes = Py_NewRef(held);
    return 1;
}

int
facts_plain(FactReader *self, PyObject *raw, PyObject *scopes, const void *rule, LastScope *last,
            PyObject **attributes, int *failed)
{
    long long status, end;
    PyObject *events = slot(raw, self->events);
    if (events == NULL || !PyTuple_CheckExact(events) || !is_whole(slot(raw, self->status), &status) ||
        !is_whole(slot(raw, self->end_ns), &end) || end <= 0)
        return 0;
    if (status == FAILED ? failed == NULL : PyTuple_GET_SIZE(events) > 0)
        return 0;
    if (failed != NULL)
        *failed = status == FAILED;
    return facts_attributes(self, raw, scopes, rule, last, attributes);
}

/* The raw span of the span at a place, or of the first of the group of spans that is there; NULL where there is none. */
static inline PyObject *
later(FactReader *self, PyObject *sequence, Py_ssize_t at, PyObject **span)
{
    PyObject *found = at < PySequence_Fast_GET_SIZE(sequence) ? PySequence_Fast_GET_ITEM(sequence, at) : NULL;
    if (found != NULL && PyList_CheckExact(found) && PyList_GET_SIZE(found))
        found = PyList_GET_ITEM(found, 0);
    *span = found;
    return found == NULL ? NULL : facts_raw(self, found);
}

ASKING
soon_values(const Fields *fields, PyObject *attributes)
{
    for (Py_ssize_t i = 0; i < fields->count && i < FIELDS_AHEAD; i++) {
        PyObject *keys = fields->fields[i].keys;
        PyObject *name = PyTuple_GET_SIZE(keys) ? PyTuple_GET_ITEM(keys, 0) : NULL;
        PyObject *value = name == NULL ? NULL : PyDict_GetItemWithError(attributes, name);
        if (value != NULL)
            soon_whole(value);
        else
            PyErr_Clear(); /* whoever reads it will see for himself */
    }
}

/* How many of their first letters tell the names of a flattened answer from others well enough. */
#define LETTERS 8

/* Asks for what an answer is read from. */
ASKING
soon_answer(const AnswerRule *rule, PyObject *attributes)
{
    PyObject *prefix = rule->leaves[PREFIX], *name, *value;
    Py_ssize_t place = 0;
    if (prefix == NULL) {
        value = PyDict_GetItemWithError(attributes, rule->text);
        if (value != NULL)
            soon_whole(value);
        PyErr_Clear();
        return;
    }
    while (PyUnicode_GET_LENGTH(prefix) >= LETTERS && PyDict_Next(attributes, &place, &name, &value))
        if (PyUnicode_CheckExact(name) && PyUnicode_IS_ASCII(name) && PyUnicode_GET_LENGTH(name) >= LETTERS &&
            !memcmp(PyUnicode_1BYTE_DATA(name), PyUnicode_1BYTE_DATA(prefix), LETTERS))
            SOON(value);
}

/* Asks for the values that a rule reads of the span at a place. */
static void
soon_read(FactReader *self, PyObject *sequence, Py_ssize_t at, void *const *rules)
{
    PyObject *span, *raw = later(self, sequence, at, &span);
    PyObject *attributes = raw == NULL ? NULL : slot(raw, self->attributes);
    Py_ssize_t dialect = attributes != NULL && PyDict_CheckExact(attributes) ? facts_dialect(self, span) : -1;
    if (dialect >= 0 && rules[dialect] != NULL) {
        Py_INCREF(attributes);
        soon_values(rules[dialect], attributes);
        if (rules == (void *const *)self->models && self->answers[dialect] != NULL)
            soon_answer(self->answers[dialect], attributes);
        Py_DECREF(attributes);
    }
}

void
facts_soon(FactReader *self, PyObject *sequence, Py_ssize_t at, void *const *rules)
{
    PyObject *span, *raw = later(self, sequence, at + 3 * AHEAD, &span);
    if (raw != NULL)
        soon_whole(raw);
    raw = later(self, sequence, at + 2 * AHEAD, &span);
    if (raw != NULL) {
        soon_whole(slot(raw, self->attributes));
        SOON(slot(raw, self->start_ns));
        SOON(slot(raw, self->end_ns));
        SOON(slot(raw, self->span_id));
    }
    raw = later(self, sequence, at + AHEAD, &span);
    if (raw != NULL)
        soon_keys(slot(raw, self->attributes));
    /* A short run has no span so far on: all of its first ones are asked for at once. */
    for (Py_ssize_t next = at ? at + AHEAD / 2 : 0; rules != NULL && next <= at + AHEAD / 2; next++)
        soon_read(self, sequence, next, rules);
}

int
facts_pace(PyObject *pause, PyObject *list, Py_ssize_t count, Py_ssize_t at)
{
    if (pause != Py_None && at % PACE == 0) {
        PyObject *over = PyObject_CallNoArgs(pause);
        if (over == NULL)
            return -1;
        Py_DECREF(over);
    }
    if (PySequence_Fast_GET_SIZE(list) != count) {
        PyErr_SetString(PyExc_RuntimeError, "the list changed while it was read");
        return -1;
    }
    return 0;
}

static void
facts_dealloc(FactReader *self)
{
    PyTypeObject *type = Py_TYPE(self);
    for (Py_ssize_t i = 0; i < self->count; i++) {
        if (self->tools[i] != NULL)
            tool_rule_clear(self->tools[i]);
        if (self->models[i] != NULL)
            model_rule_clear(self->models[i]);
        if (self->answers[i] != NULL)
            answer_rule_clear(self->answers[i]);
        PyMem_Free(self->tools[i]);
        PyMem_Free(self->models[i]);
        PyMem_Free(self->answers[i]);
    }
    PyMem_Free(self->tools);
    PyMem_Free(self->models);
    PyMem_Free(self->answers);
    shape_clear(&self->tool_call);
    shape_clear(&self->llm_call);
    shape_clear(&self->llm_fields);
    refusals_clear(&self->refusals);
    PyObject *held[] = {(PyObject *)self->raw_type, (PyObject *)self->span_type, (PyObject *)self->scope_type,
                        self->control,              self->failure,               self->prices,
                        self->ok,                   self->error,                 self->from_span,
                        self->json,                 self->mark_of_error,         self->mark_of_call,
                        self->decode};
    for (size_t i = 0; i < sizeof(held) / sizeof(held[0]); i++)
        Py_XDECREF(held[i]);
    for (int i = 0; i < MOST_PRICES; i++) {
        Py_XDECREF(self->priced[i].model);
        Py_XDECREF(self->priced[i].provider);
    }
    type->tp_free((PyObject *)self);
    Py_DECREF(type);
}

/* The rules of all dialects; those that are None stay NULL. */
static int
take_rules(FactReader *self, PyObject *tools, PyObject *models, PyObject *answers)
{
    Py_ssize_t count = PyTuple_GET_SIZE(tools);
    if (PyTuple_GET_SIZE(models) != count || PyTuple_GET_SIZE(answers) != count) {
        PyErr_SetString(PyExc_ValueError, "as many dialects have tools as have models, and answers");
        return -1;
    }
    self->tools = PyMem_Calloc(count + 1, sizeof(ToolRule *));
    self->models = PyMem_Calloc(count + 1, sizeof(ModelRule *));
    self->answers = PyMem_Calloc(count + 1, sizeof(AnswerRule *));
    if (self->tools == NULL || self->models == NULL || self->answers == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    self->count = count;
#define TAKE(into, from, take)                                                                                         \
    if (PyTuple_GET_ITEM(from, i) != Py_None) {                                                                        \
        into[i] = PyMem_Calloc(1, sizeof(*into[i]));                                                                   \
        if (into[i] == NULL || take(into[i], PyTuple_GET_ITEM(from, i)) < 0)                                           \
            return PyErr_Occurred() ? -1 : (PyErr_NoMemory(), -1);                                                     \
    }
    for (Py_ssize_t i = 0; i < count; i++) {
        TAKE(self->tools, tools, tool_rule_take)
        TAKE(self->models, models, model_rule_take)
        TAKE(self->answers, answers, answer_rule_take)
    }
#undef TAKE
    return 0;
}

/* Where the records hold what is read. */
static int
find_places(FactReader *self)
{
    struct {
        PyTypeObject *of;
        const char *field;
        Py_ssize_t *at;
    } places[] = {
        {self->raw_type, "span_id", &self->span_id},     {self->raw_type, "name", &self->name},
        {self->raw_type, "start_ns", &self->start_ns},   {self->raw_type, "end_ns", &self->end_ns},
        {self->raw_type, "status_code", &self->status},  {self->raw_type, "attributes", &self->attributes},
        {self->raw_type, "events", &self->events},       {self->raw_type, "scope", &self->scope},
        {self->span_type, "raw", &self->raw},            {self->span_type, "kind", &self->kind},
        {self->span_type, "dialect", &self->dialect},    {self->span_type, "index", &self->index},
        {self->span_type, "agent", &self->agent},        {self->span_type, "holder", &self->holder},
        {self->scope_type, "name", &self->scope_name},   {self->tool_call.type, "name", &self->call_name},
        {self->tool_call.type, "start_ns", &self->call_start},
        {self->tool_call.type, "call_id", &self->call_id},    {self->tool_call.type, "raw_result", &self->call_result},
        {self->tool_call.type, "raw_arguments", &self->call_arguments},
        {self->llm_call.type, "usage", &self->usage},         {self->llm_fields.type, "overcounted", &self->overcounted},
        {self->llm_fields.type, "input_tokens", &self->tokens[0]},
        {self->llm_fields.type, "output_tokens", &self->tokens[1]},
        {self->llm_fields.type, "cache_read_tokens", &self->tokens[2]},
        {self->llm_fields.type, "cache_write_tokens", &self->tokens[3]},
        {self->llm_fields.type, "reasoning_tokens", &self->tokens[4]},
    };
    for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
        *places[i].at = slot_of(places[i].of, places[i].field);
        if (*places[i].at < 0)
            return -1;
    }
    return 0;
}

static PyObject *
facts_new(PyTypeObject *type, PyObject *args, PyObject *kwargs)
{
    static char *names[] = {"raw",     "span",     "scope",   "tool_call", "llm_call", "llm_fields", "tools", "models",
                            "answers", "refusals", "control", "failure",   "prices",   "decode",     NULL};
    PyTypeObject *raw, *span, *scope, *tool_call, *llm_call, *llm_fields;
    PyObject *tools, *models, *answers, *refusals, *control, *failure, *prices, *decode;
    if (!PyArg_ParseTupleAndKeywords(args, kwargs, "O!O!O!O!O!O!O!O!O!O!OOOO:FactReader", names, &PyType_Type, &raw,
                                     &PyType_Type, &span, &PyType_Type, &scope, &PyType_Type, &tool_call, &PyType_Type,
                                     &llm_call, &PyType_Type, &llm_fields, &PyTuple_Type, &tools,
                                     &PyTuple_Type, &models, &PyTuple_Type, &answers, &PyTuple_Type, &refusals,
                                     &control, &failure, &prices, &decode))
        return NULL;
    FactReader *self = (FactReader *)type->tp_alloc(type, 0);
    if (self == NULL)
        return NULL;
    self->raw_type = (PyTypeObject *)Py_NewRef((PyObject *)raw);
    self->span_type = (PyTypeObject *)Py_NewRef((PyObject *)span);
    self->scope_type = (PyTypeObject *)Py_NewRef((PyObject *)scope);
    self->control = Py_NewRef(control);
    self->failure = Py_NewRef(failure);
    self->prices = Py_NewRef(prices);
    self->decode = Py_NewRef(decode);
    self->ok = PyUnicode_InternFromString("ok");
    self->error = PyUnicode_InternFromString("error");
    self->from_span = PyUnicode_InternFromString("span");
    self->json = PyUnicode_InternFromString("json");
    self->mark_of_error = PyUnicode_InternFromString("rror");
    self->mark_of_call = PyUnicode_InternFromString("tool_call");
    if (self->ok == NULL || self->error == NULL || self->from_span == NULL || self->json == NULL ||
        self->mark_of_error == NULL || self->mark_of_call == NULL || shape_take(&self->tool_call, tool_call) < 0 ||
        shape_take(&self->llm_call, llm_call) < 0 || shape_take(&self->llm_fields, llm_fields) < 0 || find_places(self) < 0 ||
        take_rules(self, tools, models, answers) < 0 || refusals_take(&self->refusals, refusals) < 0)
        Py_CLEAR(self);
    return (PyObject *)self;
}

static PyMethodDef facts_methods[] = {
    {"tool_calls", ON_THE_STACK(facts_tool_calls), "Adds the calls of tools' plain spans."},
    {"llm_calls", ON_THE_STACK(facts_llm_calls), "The calls of models, the plain ones read here."},
    {"all_have_spans", ON_THE_STACK(facts_all_have_spans), "Whether models asked for just these calls."},
    {"unsaid", (PyCFunction)facts_unsaid, METH_O, "What calls of tools do not tell."},
    {"tokens", (PyCFunction)facts_tokens, METH_O, "The tokens of model calls."},
    {NULL, NULL, 0, NULL},
};

static PyType_Slot facts_slots[] = {
    {Py_tp_new, facts_new},
    {Py_tp_dealloc, facts_dealloc},
    {Py_tp_methods, facts_methods},
    {Py_tp_doc, "Reads the facts of plain spans."},
    {0, NULL},
};

static PyType_Spec facts_spec = {
    .name = "spanwise.native._core.FactReader",
    .basicsize = sizeof(FactReader),
    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_IMMUTABLETYPE,
    .slots = facts_slots,
};

int
add_facts(PyObject *module)
{
    return add_type(module, &facts_spec);
}
