/* The calls of models that left one plain span each: the twin of `_call` and `_cost` in assembly/llms.py. */
#include "facts.h"

enum { MODEL, PROVIDER, SENT, GOT, CACHE_READ, CACHE_WRITE, REASONING, COST };

#define HOUR_NS 3600000000000LL
/* So many whole numbers are fractions without a rest, too. */
#define EXACT ((long long)1 << 53)

void
model_rule_clear(ModelRule *rule)
{
    fields_clear(&rule->fields);
    Py_XDECREF(rule->scopes);
    Py_XDECREF(rule->absent);
}

int
model_rule_take(ModelRule *rule, PyObject *said)
{
    PyObject *fields;
    if (!PyArg_ParseTuple(said, "O!O!O!p:model", &PyTuple_Type, &fields, &PyFrozenSet_Type, &rule->scopes,
                          &PyTuple_Type, &rule->absent, &rule->whole)) {
        *rule = (ModelRule){0};
        return -1;
    }
    Py_INCREF(rule->scopes);
    Py_INCREF(rule->absent);
    if (fields_take(&rule->fields, fields) < 0)
        return -1;
    if (rule->fields.count <= COST) {
        PyErr_SetString(PyExc_ValueError, "a model has a name, a provider, five counts and a cost");
        return -1;
    }
    return 0;
}

/* A price out of a record of them; -1.0 with an exception set. */
static double
price(PyObject *prices, const char *name)
{
    PyObject *value = PyObject_GetAttrString(prices, name);
    double found = value == NULL ? -1.0 : PyFloat_AsDouble(value);
    Py_XDECREF(value);
    return found;
}

static int
ask_prices(FactReader *self, Prices *into)
{
    PyObject *hour = PyLong_FromLongLong(into->hour);
    if (hour == NULL)
        return -1;
    PyObject *args[] = {into->model, into->provider, hour}, *found = PyObject_Vectorcall(self->prices, args, 3, NULL);
    Py_DECREF(hour);
    if (found == NULL)
        return -1;
    into->known = found != Py_None;
    if (into->known) {
        PyObject *linear = PyObject_GetAttrString(found, "linear");
        into->linear = linear == NULL ? -1 : PyObject_IsTrue(linear);
        Py_XDECREF(linear);
        into->call = into->linear < 0 ? -1.0 : price(found, "call");
        into->input = PyErr_Occurred() ? -1.0 : price(found, "input");
        into->output = PyErr_Occurred() ? -1.0 : price(found, "output");
        into->cache_read = PyErr_Occurred() ? -1.0 : price(found, "cache_read");
        into->cache_write = PyErr_Occurred() ? -1.0 : price(found, "cache_write");
    }
    Py_DECREF(found);
    return PyErr_Occurred() ? -1 : 0;
}

static int
is_same(PyObject *one, PyObject *other)
{
    return one == other || (one != Py_None && other != Py_None && PyUnicode_Compare(one, other) == 0);
}

/* The prices of a model at a time; NULL with an exception. */
static const Prices *
prices_of(FactReader *self, PyObject *model, PyObject *provider, long long start)
{
    long long hour = start / HOUR_NS;
    for (int i = 0; i < MOST_PRICES && self->priced[i].model != NULL; i++) {
        const Prices *known = &self->priced[i];
        if (known->hour == hour && is_same(known->model, model) && is_same(known->provider, provider))
            return known;
    }
    Prices found = {.model = model, .provider = provider, .hour = hour};
    if (ask_prices(self, &found) < 0)
        return NULL;
    Prices *place = &self->priced[self->next_priced];
    self->next_priced = (self->next_priced + 1) % MOST_PRICES;
    Prices before = *place;
    Py_INCREF(model);
    Py_INCREF(provider);
    *place = found;
    Py_XDECREF(before.model);
    Py_XDECREF(before.provider);
    return place;
}

/* A count of tokens as a fraction: 0 where there is none; whether it is exact. */
static int
counted(PyObject *value, double *number)
{
    long long found = 0;
    if (value != Py_None && (!is_whole(value, &found) || found < 0 || found > EXACT))
        return 0;
    *number = (double)found;
    return 1;
}

/* 1: the cost, a new reference, as `_cost` works it out; 0: it takes a closer look; -1: an exception. */
static int
cost_of(FactReader *self, PyObject **values, long long start, PyObject **cost, int *estimated)
{
    double sent, got, cache_read, cache_write;
    *estimated = 0;
    if (values[COST] != Py_None || values[MODEL] == Py_None || (values[SENT] == Py_None && values[GOT] == Py_None)) {
        *cost = Py_NewRef(values[COST]);
        return 1;
    }
    if (start < 0 || !PyUnicode_CheckExact(values[MODEL]) ||
        !(values[PROVIDER] == Py_None || PyUnicode_CheckExact(values[PROVIDER])) || !counted(values[SENT], &sent) ||
        !counted(values[GOT], &got) || !counted(values[CACHE_READ], &cache_read) ||
        !counted(values[CACHE_WRITE], &cache_write))
        return 0;
    const Prices *prices = prices_of(self, values[MODEL], values[PROVIDER], start);
    if (prices == NULL)
        return -1;
    double fresh = sent - cache_read - cache_write;
    *estimated = prices->known && fresh >= 0;
    if (!*estimated) {
        *cost = Py_NewRef(Py_None);
        return 1;
    }
    if (!prices->linear)
        return 0;
    double cached = cache_read || cache_write ? cache_read * prices->cache_read + cache_write * prices->cache_write : 0;
    *cost = PyFloat_FromDouble(prices->call + fresh * prices->input + got * prices->output + cached);
    return *cost == NULL ? -1 : 1;
}

static PyObject *
made(FactReader *self, PyObject *span, PyObject *raw, PyObject *usage, PyObject *cost, int estimated)
{
    long long start, end;
    if (!is_whole(slot(raw, self->start_ns), &start) || !is_whole(slot(raw, self->end_ns), &end) ||
        slot(span, self->index) == NULL || slot(span, self->agent) == NULL || slot(raw, self->span_id) == NULL) {
        PyErr_SetString(PyExc_TypeError, "a span without an index, an agent, times or an id");
        return NULL;
    }
    PyObject *args[] = {usage,
                        cost,
                        estimated ? Py_True : Py_False,
                        Py_False,
                        slot(span, self->index),
                        slot(span, self->agent),
                        slot(raw, self->start_ns),
                        end > start ? slot(raw, self->end_ns) : slot(raw, self->start_ns),
                        slot(raw, self->span_id)};
    return shape_made(&self->llm_call, args, sizeof(args) / sizeof(args[0]));
}

/* Whether all that a span says of its call is plain: what is counted apart, or is missing, takes a closer look. */
static int
is_plain(const ModelRule *rule, PyObject **values)
{
    double sent, cache_read, cache_write;
    if (!rule->whole)
        return 1;
    return values[MODEL] != Py_None && values[SENT] != Py_None && values[GOT] != Py_None &&
           counted(values[SENT], &sent) && counted(values[CACHE_READ], &cache_read) &&
           counted(values[CACHE_WRITE], &cache_write) && cache_read + cache_write <= sent;
}

/* 1: the call of a plain span, a new reference; 0: it takes a closer look; -1: an exception. */
static int
take(FactReader *self, LastScope *last, PyObject *span, PyObject *raw, PyObject **call)
{
    Py_ssize_t dialect = facts_dialect(self, span);
    const ModelRule *rule = dialect < 0 ? NULL : self->models[dialect];
    PyObject *attributes = NULL, *values[MOST_FIELDS], *cost = NULL;
    long long start;
    int estimated;
    if (rule == NULL || !is_whole(slot(raw, self->start_ns), &start))
        return 0;
    int plain = facts_plain(self, raw, rule->scopes, rule, last, &attributes, NULL);
    for (Py_ssize_t i = 0; plain == 1 && i < PyTuple_GET_SIZE(rule->absent); i++) {
        plain = PyDict_Contains(attributes, PyTuple_GET_ITEM(rule->absent, i));
        plain = plain < 0 ? -1 : !plain;
    }
    if (plain == 1 && fields_read(&rule->fields, attributes, values) < 0)
        plain = -1;
    Py_XDECREF(attributes);
    if (plain != 1)
        return plain;
    plain = is_plain(rule, values) ? cost_of(self, values, start, &cost, &estimated) : 0;
    if (plain == 1) {
        PyObject *usage = shape_made(&self->llm_fields, values, rule->fields.count);
        *call = usage == NULL ? NULL : made(self, span, raw, usage, cost, estimated);
        Py_XDECREF(usage);
        plain = *call == NULL ? -1 : 1;
    }
    Py_XDECREF(cost);
    for (Py_ssize_t i = 0; i < rule->fields.count; i++)
        Py_DECREF(values[i]);
    return plain;
}

PyObject *
llm_call_of(FactReader *self, LastScope *last, PyObject *group, PyObject *slow)
{
    PyObject *call = NULL;
    int taken = 0;
    if ((PyList_CheckExact(group) || PyTuple_CheckExact(group)) && PySequence_Fast_GET_SIZE(group) == 1) {
        PyObject *span = Py_NewRef(PySequence_Fast_GET_ITEM(group, 0)), *raw = Py_XNewRef(facts_raw(self, span));
        taken = raw == NULL ? 0 : take(self, last, span, raw, &call);
        Py_XDECREF(raw);
        Py_DECREF(span);
    }
    return taken ? call : PyObject_CallOneArg(slow, group);
}

/* llm_calls(groups, slow, pause): the calls of these groups of spans; `slow` makes those that take a closer look. */
PyObject *
facts_llm_calls(FactReader *self, PyObject *const *given, Py_ssize_t number)
{
    if (!were_given("llm_calls", number, 3))
        return NULL;
    LastScope last = {0};
    PyObject *slow = given[1], *pause = given[2];
    PyObject *groups = PySequence_Fast(given[0], "the groups are a sequence");
    PyObject *found = groups == NULL ? NULL : PyList_New(0);
    Py_ssize_t count = found == NULL ? 0 : PySequence_Fast_GET_SIZE(groups), at = 0;
    for (; at < count; at++) {
        if (facts_pace(pause, groups, count, at) < 0)
            break;
        facts_soon(self, groups, at, (void *const *)self->models);
        PyObject *group = Py_NewRef(PySequence_Fast_GET_ITEM(groups, at)), *call = llm_call_of(self, &last, group, slow);
        Py_DECREF(group);
        int failed = call == NULL || PyList_Append(found, call) < 0;
        Py_XDECREF(call);
        if (failed)
            break;
    }
    Py_XDECREF(groups);
    Py_XDECREF(last.scope);
    if (at < count)
        Py_CLEAR(found);
    return found;
}
