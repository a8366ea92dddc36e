/* Whether the models asked for the calls that left spans, and for no others: the twin of `_all_have_spans` in
 * assembly/calls.py, which says what is looked at.
 */
#include "facts.h"

/* So many calls of one flattened answer are looked at. */
#define MOST_ASKED 16

void
answer_rule_clear(AnswerRule *rule)
{
    Py_XDECREF(rule->text);
    Py_XDECREF(rule->scopes);
    Py_XDECREF(rule->absent);
    for (int i = 0; i < LEAVES; i++)
        Py_XDECREF(rule->leaves[i]);
}

int
answer_rule_take(AnswerRule *rule, PyObject *said)
{
    PyObject *leaves;
    if (!PyArg_ParseTuple(said, "UO!O!O!:answer", &rule->text, &PyFrozenSet_Type, &rule->scopes, &PyTuple_Type,
                          &rule->absent, &PyTuple_Type, &leaves)) {
        *rule = (AnswerRule){0};
        return -1;
    }
    Py_INCREF(rule->text);
    Py_INCREF(rule->scopes);
    Py_INCREF(rule->absent);
    Py_ssize_t count = PyTuple_GET_SIZE(leaves);
    int sound = PyUnicode_GET_LENGTH(rule->text) ? count == 0 : count == LEAVES;
    for (Py_ssize_t i = 0; sound && i < count; i++) {
        PyObject *leaf = PyTuple_GET_ITEM(leaves, i);
        sound = PyUnicode_CheckExact(leaf) && PyUnicode_IS_ASCII(leaf);
        if (sound)
            rule->leaves[i] = Py_NewRef(leaf);
    }
    if (!sound)
        PyErr_SetString(PyExc_ValueError, "an answer is one text, or has leaves of so many names");
    return sound ? 0 : -1;
}

typedef struct {
    const char *at;
    Py_ssize_t left;
} Rest;

/* Passes a text of ASCII, if that comes next: of two that begin alike the last letters differ. */
static inline int
passed(Rest *rest, PyObject *text)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    const Py_UCS1 *letters = PyUnicode_1BYTE_DATA(text);
    if (rest->left < size || (size && rest->at[size - 1] != (char)letters[size - 1]) ||
        memcmp(rest->at, letters, (size_t)size) != 0)
        return 0;
    rest->at += size;
    rest->left -= size;
    return 1;
}

/* Whether a text cannot begin as another does, by the first eight bytes of both. */
static inline int
differs(const Rest *rest, PyObject *text)
{
    uint64_t own, wanted;
    if (rest->left < (Py_ssize_t)sizeof(own) || PyUnicode_GET_LENGTH(text) < (Py_ssize_t)sizeof(own))
        return 0;
    memcpy(&own, rest->at, sizeof(own));
    memcpy(&wanted, PyUnicode_1BYTE_DATA(text), sizeof(wanted));
    return own != wanted;
}

/* The number that comes next, as it is usually written; -1 where none does, or too great a one. */
static int
passed_number(Rest *rest)
{
    int found = 0, digits = 0;
    for (; digits < rest->left && rest->at[digits] >= '0' && rest->at[digits] <= '9' && found < MOST_ASKED; digits++)
        found = found * 10 + rest->at[digits] - '0';
    if (!digits || found >= MOST_ASKED || (digits > 1 && rest->at[0] == '0'))
        return -1;
    rest->at += digits;
    rest->left -= digits;
    return found;
}

/* What stands below the names of a flattened answer; all borrowed. */
typedef struct {
    PyObject *ids[MOST_ASKED];
    int named[MOST_ASKED], has_speaker;
} Flat;

static inline int
is_told_text(PyObject *value)
{
    return PyUnicode_CheckExact(value) && PyUnicode_GET_LENGTH(value) > 0;
}

/* Takes in an attribute; 0 where that is in doubt. What does not matter of it is not looked at: it is in no cache. */
static int
take_leaf(const AnswerRule *rule, PyObject *name, PyObject *value, Flat *flat)
{
    if (!PyUnicode_CheckExact(name) || !PyUnicode_IS_ASCII(name))
        return 0;
    Rest rest = {PyUnicode_DATA(name), PyUnicode_GET_LENGTH(name)};
    if (differs(&rest, rule->leaves[PREFIX]) || !passed(&rest, rule->leaves[PREFIX]))
        return 1;
    if (passed(&rest, rule->leaves[SPEAKER])) {
        flat->has_speaker = PyUnicode_CheckExact(value) && PyUnicode_Compare(value, rule->leaves[MODEL_SPEAKS]) == 0;
        return rest.left == 0;
    }
    if (passed(&rest, rule->leaves[CONTENT]))
        return rest.left == 0 && PyUnicode_CheckExact(value);
    int at = passed(&rest, rule->leaves[CALLS]) ? passed_number(&rest) : -1;
    if (at < 0 || !passed(&rest, rule->leaves[INSIDE]))
        return 0;
    Rest whole = rest;
    if (passed(&rest, rule->leaves[ID]) && rest.left == 0) {
        flat->ids[at] = value;
        return is_told_text(value);
    }
    rest = whole;
    if (passed(&rest, rule->leaves[CALL_NAME]) && rest.left == 0) {
        flat->named[at] = 1;
        return is_told_text(value);
    }
    rest = whole;
    return passed(&rest, rule->leaves[CALL_ARGUMENTS]) && rest.left == 0;
}

/* The ids of the calls that a flattened answer asks for, a new list; NULL where that is in doubt, or an exception. */
static PyObject *
ids_in(const AnswerRule *rule, PyObject *attributes)
{
    Flat flat = {0};
    PyObject *name, *value;
    Py_ssize_t place = 0;
    while (PyDict_Next(attributes, &place, &name, &value))
        if (!take_leaf(rule, name, value, &flat))
            return NULL;
    if (!flat.has_speaker)
        return NULL;
    PyObject *found = PyList_New(0);
    for (int at = 0; found != NULL && at < MOST_ASKED; at++) {
        int sound = flat.named[at] == (flat.ids[at] != NULL);
        for (int before = 0; sound && flat.named[at] && before < at; before++)
            sound = flat.ids[before] == NULL || PyUnicode_Compare(flat.ids[before], flat.ids[at]) != 0;
        if (!sound || (flat.named[at] && PyList_Append(found, flat.ids[at]) < 0))
            Py_CLEAR(found);
    }
    return found;
}

/* What a span says was asked for, as its dialect has it: a new reference; NULL with an exception. */
static PyObject *
said_by(FactReader *self, PyObject *span, PyObject *slow, LastScope *last)
{
    PyObject *raw = Py_XNewRef(facts_raw(self, span)), *found = NULL, *attributes = NULL;
    Py_ssize_t dialect = raw == NULL ? -1 : facts_dialect(self, span);
    const AnswerRule *rule = dialect < 0 ? NULL : self->answers[dialect];
    int plain = rule != NULL ? facts_attributes(self, raw, rule->scopes, rule, last, &attributes) : 0;
    for (Py_ssize_t i = 0; plain == 1 && i < PyTuple_GET_SIZE(rule->absent); i++) {
        plain = PyDict_Contains(attributes, PyTuple_GET_ITEM(rule->absent, i));
        plain = plain < 0 ? -1 : !plain;
    }
    if (plain == 1 && rule->leaves[PREFIX] != NULL)
        found = ids_in(rule, attributes);
    else if (plain == 1) {
        PyObject *text = PyDict_GetItemWithError(attributes, rule->text);
        found = text != NULL && PyUnicode_CheckExact(text) ? Py_NewRef(text) : NULL;
    }
    Py_XDECREF(attributes);
    Py_XDECREF(raw);
    return found != NULL || PyErr_Occurred() ? found : PyObject_CallOneArg(slow, span);
}

/* Whether these words stand at a place of a text. */
static int
stands(PyObject *text, Py_ssize_t at, const char *words)
{
    Py_ssize_t end = PyUnicode_GET_LENGTH(text);
    int kind = PyUnicode_KIND(text);
    const void *letters = PyUnicode_DATA(text);
    for (; *words; words++, at++)
        if (at < 0 || at >= end || PyUnicode_READ(kind, letters, at) != (Py_UCS4)*words)
            return 0;
    return 1;
}

/* Whether they stand right before a place. */
static int
leads(PyObject *text, Py_ssize_t at, const char *words)
{
    return stands(text, at - (Py_ssize_t)strlen(words), words);
}

/* Where a text names a call of a tool, at some place or behind it; -1 where it does not. */
static Py_ssize_t
call_in(FactReader *self, PyObject *text, Py_ssize_t at)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text);
    if (PyUnicode_KIND(text) != PyUnicode_1BYTE_KIND)
        return PyUnicode_Find(text, self->mark_of_call, at, size, 1);
    /* Few words have the one letter by which it is looked for. */
    const char *letters = (const char *)PyUnicode_1BYTE_DATA(text), *found = letters + at;
    while ((found = memchr(found, '_', (size_t)(letters + size - found))) != NULL) {
        Py_ssize_t begin = found - letters - 4;
        if (begin >= at && size - begin >= 9 && !memcmp(letters + begin, "tool_call", 9))
            return begin;
        found++;
    }
    return -1;
}

/* How many calls a text asks for; -1 where it names calls otherwise than those of tools are; -2 with an exception. */
static Py_ssize_t
asked_in(FactReader *self, PyObject *text)
{
    Py_ssize_t dense = 0, spaced = 0, at = 0, found;
    while ((found = call_in(self, text, at)) >= 0) {
        at = found + PyUnicode_GET_LENGTH(self->mark_of_call);
        if (leads(text, found, "server_"))
            return -1;
        if (stands(text, at, "\"")) {
            dense += leads(text, found, "\"type\":\"");
            spaced += leads(text, found, "\"type\": \"");
        }
    }
    if (found < -1)
        return -2;
    return dense ? dense : spaced ? spaced : at ? -1 : 0;
}

/* Whether a text holds an id, as that of something; -1 with an exception. */
static int
has_id(PyObject *text, PyObject *id)
{
    Py_ssize_t size = PyUnicode_GET_LENGTH(text), length = PyUnicode_GET_LENGTH(id), at = 0, found;
    while (at <= size && (found = PyUnicode_Find(text, id, at, size, 1)) != -1) {
        if (found < -1)
            return -1;
        if (stands(text, found + length, "\"") &&
            (leads(text, found, "\"id\":\"") || leads(text, found, "\"id\": \"")))
            return 1;
        at = found + 1;
    }
    return 0;
}

/* Whether a call says all of itself; its id must be text of the usual type, else there is DOUBT. */
static int
is_told(FactReader *self, PyObject *call, PyObject *whole)
{
    PyObject *id = slot(call, self->call_id), *arguments = slot(call, self->call_arguments);
    PyObject *result = slot(call, self->call_result);
    if (id == NULL || arguments == NULL || result == NULL || (id != Py_None && !PyUnicode_CheckExact(id)))
        return DOUBT;
    if (id == Py_None || result == Py_None)
        return 0;
    if (PyUnicode_CheckExact(arguments)) {
        Py_ssize_t size = PyUnicode_GET_LENGTH(arguments);
        return size && PyUnicode_READ_CHAR(arguments, 0) == '{' && PyUnicode_READ_CHAR(arguments, size - 1) == '}';
    }
    if (PyDict_CheckExact(arguments))
        return 1;
    PyObject *said = PyObject_CallOneArg(whole, arguments);
    int found = said == NULL ? -1 : PyObject_IsTrue(said);
    Py_XDECREF(said);
    return found;
}

/* Whether the next calls are those that were asked for; `ids` is NULL where a text asks for them. */
static int
fit(FactReader *self, PyObject *calls, Py_ssize_t at, Py_ssize_t asked, PyObject *text, PyObject *ids, PyObject *whole)
{
    PyObject *seen = asked > 1 ? PySet_New(NULL) : NULL;
    int found = PyErr_Occurred() ? -1 : at + asked <= PyList_GET_SIZE(calls);
    for (Py_ssize_t i = 0; found == 1 && i < asked; i++) {
        if (at + i >= PyList_GET_SIZE(calls) || (ids != NULL && i >= PyList_GET_SIZE(ids))) {
            found = DOUBT;
            break;
        }
        PyObject *call = Py_NewRef(PyList_GET_ITEM(calls, at + i));
        found = Py_IS_TYPE(call, self->tool_call.type) ? is_told(self, call, whole) : DOUBT;
        PyObject *id = found == 1 ? Py_XNewRef(slot(call, self->call_id)) : NULL;
        if (id != NULL && PyUnicode_CheckExact(id)) {
            if (ids == NULL)
                found = has_id(text, id);
            else
                found = PyUnicode_CheckExact(PyList_GET_ITEM(ids, i))
                            ? PyUnicode_Compare(id, PyList_GET_ITEM(ids, i)) == 0
                            : DOUBT;
            if (found == 1 && seen != NULL && PySet_Add(seen, id) < 0)
                found = -1;
        }
        else if (found == 1)
            found = DOUBT;
        Py_XDECREF(id);
        Py_DECREF(call);
    }
    if (found == 1 && seen != NULL)
        found = PySet_GET_SIZE(seen) == asked;
    Py_XDECREF(seen);
    return found;
}

/* 1: what a group of spans asked for, a new reference, None for nothing, and how many calls; 0: one of them does not
 * tell; -1: an exception. */
static int
asking_of(FactReader *self, PyObject *group, PyObject *slow, LastScope *last, PyObject **asking, Py_ssize_t *asked)
{
    *asking = Py_NewRef(Py_None);
    if (!PyList_CheckExact(group) && !PyTuple_CheckExact(group))
        return DOUBT;
    for (Py_ssize_t i = PySequence_Fast_GET_SIZE(group) - 1; i >= 0; i--) {
        if (i >= PySequence_Fast_GET_SIZE(group))
            return DOUBT;
        PyObject *span = Py_NewRef(PySequence_Fast_GET_ITEM(group, i)), *said = said_by(self, span, slow, last);
        Py_DECREF(span);
        if (said == NULL)
            return -1;
        Py_ssize_t count = 0;
        int known = 1;
        if (PyUnicode_CheckExact(said))
            count = asked_in(self, said);
        else if (PyList_CheckExact(said))
            count = PyList_GET_SIZE(said);
        else
            known = said == Py_None ? 0 : PyTuple_CheckExact(said) && !PyTuple_GET_SIZE(said) ? 1 : DOUBT;
        if (known == 1 && count && *asking == Py_None) {
            Py_SETREF(*asking, Py_NewRef(said));
            *asked = count;
        }
        Py_DECREF(said);
        if (known != 1 || count < -1)
            return count < -1 ? -1 : known;
    }
    return 1;
}

/* Adds what the models' own calls are to a list; -1 with an exception. */
static int
add_made(FactReader *self, LastScope *last, PyObject *group, PyObject *look, PyObject *made)
{
    PyObject *call = llm_call_of(self, last, group, look);
    int failed = call == NULL ? -1 : PyList_Append(made, call);
    Py_XDECREF(call);
    return failed;
}

/* all_have_spans(groups, calls, slow, whole, pause, look, made): whether the models of these groups of spans asked for
 * exactly these calls, which start one after the other, and were told of none that was refused; None where that is left
 * to the twin. `slow` says what a span asks for, `whole` whether arguments are. As far as it gets, the groups' own calls
 * are added to `made`, as `llm_calls` gives them with `look`: of a long run nothing of their spans is in the processor's
 * caches when they are read again. */
PyObject *
facts_all_have_spans(FactReader *self, PyObject *const *given, Py_ssize_t number)
{
    if (!were_given("all_have_spans", number, 7))
        return NULL;
    PyObject *calls = given[1], *slow = given[2], *whole = given[3], *pause = given[4], *look = given[5];
    PyObject *made = given[6];
    LastScope last = {0}, last_made = {0};
    if (!PyList_CheckExact(calls) || !PyList_CheckExact(made)) {
        PyErr_SetString(PyExc_TypeError, "all_have_spans takes a list of calls, and one for the models' own");
        return NULL;
    }
    PyObject *groups = PySequence_Fast(given[0], "the groups are a sequence");
    Py_ssize_t count = groups == NULL ? 0 : PySequence_Fast_GET_SIZE(groups), at = 0;
    int found = groups == NULL ? -1 : start_apart(self, calls);
    if (found == 1) {
        int refused = were_refused(self, groups);
        found = refused == 0 || refused == 1 ? !refused : refused;
    }
    for (Py_ssize_t place = 0; found == 1 && place < count; place++) {
        PyObject *asking = NULL;
        Py_ssize_t asked = 0;
        if (facts_pace(pause, groups, count, place) < 0) {
            found = -1;
            break;
        }
        facts_soon(self, groups, place, (void *const *)self->models);
        PyObject *group = Py_NewRef(PySequence_Fast_GET_ITEM(groups, place));
        found = asking_of(self, group, slow, &last, &asking, &asked);
        if (found >= 0 && add_made(self, &last_made, group, look, made) < 0)
            found = -1;
        Py_DECREF(group);
        if (found == 1 && asking != Py_None) {
            PyObject *text = PyUnicode_CheckExact(asking) ? asking : NULL;
            found = asked < 0 ? 0 : fit(self, calls, at, asked, text, text != NULL ? NULL : asking, whole);
            at += asked;
        }
        Py_DECREF(asking);
    }
    Py_XDECREF(groups);
    Py_XDECREF(last.scope);
    Py_XDECREF(last_made.scope);
    if (found < 0)
        return NULL;
    if (found == 1 && at != PyList_GET_SIZE(calls))
        found = 0;
    return Py_NewRef(found == DOUBT ? Py_None : found ? Py_True : Py_False);
}
