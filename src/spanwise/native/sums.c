/* What is summed up over many calls: tokens of models, what those of tools do not tell. */
#include "facts.h"

/* unsaid(calls): 1 if any call has no result, and 2 more if any has arguments that are no JSON object's text; -1 where
 * something else than a call stands there. */
PyObject *
facts_unsaid(FactReader *self, PyObject *calls)
{
    long found = 0;
    if (!PyList_CheckExact(calls)) {
        PyErr_SetString(PyExc_TypeError, "unsaid takes a list of calls");
        return NULL;
    }
    for (Py_ssize_t i = 0; i < PyList_GET_SIZE(calls); i++) {
        PyObject *call = PyList_GET_ITEM(calls, i);
        if (!Py_IS_TYPE(call, self->tool_call.type))
            return PyLong_FromLong(-1);
        PyObject *result = slot(call, self->call_result), *given = slot(call, self->call_arguments);
        if (result == NULL || result == Py_None)
            found |= 1;
        if (given != NULL && given != Py_None &&
            !(PyUnicode_CheckExact(given) && PyUnicode_GET_LENGTH(given) && PyUnicode_READ_CHAR(given, 0) == '{'))
            found |= 2;
    }
    return PyLong_FromLong(found);
}

/* tokens(calls): the sums of what these model calls counted, each None where none of them did, as a tuple; None where
 * that takes a closer look: none counts what went in or came out, one counts more than its own, or as no whole number. */
PyObject *
facts_tokens(FactReader *self, PyObject *calls)
{
    long long sums[TOKENS] = {0}, number;
    int known[TOKENS] = {0};
    PyObject *records = PySequence_Fast(calls, "the calls are a sequence");
    if (records == NULL)
        return NULL;
    int sound = 1;
    for (Py_ssize_t i = 0; sound && i < PySequence_Fast_GET_SIZE(records); i++) {
        PyObject *call = PySequence_Fast_GET_ITEM(records, i);
        PyObject *usage = Py_IS_TYPE(call, self->llm_call.type) ? slot(call, self->usage) : NULL;
        sound = usage != NULL && Py_IS_TYPE(usage, self->llm_fields.type) && slot(usage, self->overcounted) == Py_False;
        for (int kind = 0; sound && kind < TOKENS; kind++) {
            PyObject *value = slot(usage, self->tokens[kind]);
            if (value == Py_None)
                continue;
            sound = is_whole(value, &number) && number >= 0 && number < MOST_TOKENS && sums[kind] < MOST_TOKENS;
            known[kind] = 1;
            sums[kind] += sound ? number : 0;
        }
    }
    Py_DECREF(records);
    if (!sound || !(known[0] || known[1]))
        return Py_NewRef(Py_None);
    PyObject *found = PyTuple_New(TOKENS);
    for (int kind = 0; found != NULL && kind < TOKENS; kind++) {
        PyObject *sum = known[kind] ? PyLong_FromLongLong(sums[kind]) : Py_NewRef(Py_None);
        if (sum == NULL)
            Py_CLEAR(found);
        else
            PyTuple_SET_ITEM(found, kind, sum);
    }
    return found;
}
