/* What the readers of facts share. Python.h must come first.
 *
 * They take spans that are plain: of a dialect that says in a table how its ordinary spans are read, and with nothing
 * about them that takes a closer look. Whatever is in doubt is left to the twin in Python, span by span.
 */
#ifndef SPANWISE_FACTS_H
#define SPANWISE_FACTS_H

#include "fields.h"
#include "shape.h"
#include <stdint.h>

/* So many spans are looked at between two pauses. */
#define PACE 64
/* So many sorts of tokens are counted, each of no more than so many. */
#define TOKENS 5
#define MOST_TOKENS ((long long)1 << 61)
/* The status of a span that failed. */
#define FAILED 2

/* So many names of arguments take a closer look. */
#define MOST_KEYS 16

typedef struct {
    const char *letters;
    Py_ssize_t size;
} FlatKey;

/* The same names, for arguments that are not decoded. */
typedef struct {
    FlatKey keys[MOST_KEYS];
    int count;
} FlatRule;

/* How the tools' spans of a dialect are read. */
typedef struct {
    Fields fields;        /* first of all, see `facts_soon`: name, arguments, result, id; of all that follow each must be false or empty */
    PyObject *scopes;     /* a frozenset: the scopes that write them otherwise */
    PyObject *names;      /* a frozenset: what is no tool's own name */
    PyObject *ids;        /* a frozenset: what is no call's id */
    PyObject *titles;     /* a tuple: how the names of spans end that are read otherwise */
    PyObject *beginnings; /* a tuple: how results begin that may be more than what the tool returned */
    PyObject *result;     /* reads those; None where the twin does */
    PyObject *failure;    /* says what a failed span says of it; None for one that takes a closer look */
    PyObject *keys;       /* a frozenset: names of arguments that take a closer look; None: none is looked at */
    FlatRule flat;        /* the same names */
    int whole;            /* what is missing is looked for in other dialects */
    uint64_t first[2];    /* the characters that results of those beginnings begin with, as bits */
} ToolRule;

/* How the models' spans of a dialect are read. */
typedef struct {
    Fields fields;    /* first of all, in the order of the record */
    PyObject *scopes; /* a frozenset: the scopes that write them otherwise */
    PyObject *absent; /* a tuple: the attributes of spans that take a closer look */
    int whole;
} ModelRule;

/* The leaves of a flattened answer: how all of their names begin; whose words they are, and what that is of a model;
 * the text; how calls begin, what stands behind a call's number, and what behind that. */
enum { PREFIX, SPEAKER, MODEL_SPEAKS, CONTENT, CALLS, INSIDE, ID, CALL_NAME, CALL_ARGUMENTS, LEAVES };

/* How the answers of a dialect's models name the calls that they ask for. */
typedef struct {
    PyObject *text;           /* the attribute that holds an answer as JSON text; empty where answers are flattened */
    PyObject *scopes;         /* a frozenset: the scopes that write them otherwise */
    PyObject *absent;         /* a tuple: the attributes of spans that take a closer look */
    PyObject *leaves[LEAVES]; /* texts of ASCII; all but MODEL_SPEAKS without what stands before them in a name */
} AnswerRule;

/* How models are told of calls that were refused, which their answers do not tell. */
typedef struct {
    PyObject *scopes;    /* a frozenset: the scopes that leave those out */
    PyObject *attribute; /* what a model was sent */
    PyObject *words;
} Refusals;

/* What is in doubt is left to the twin. */
#define DOUBT 2

/* So many prices are remembered. */
#define MOST_PRICES 8

/* What a model's tokens cost at an hour; it owns its references. */
typedef struct {
    PyObject *model, *provider;
    long long hour;
    int known, linear;
    double call, input, output, cache_read, cache_write;
} Prices;

typedef struct {
    PyObject_HEAD
    PyTypeObject *raw_type, *span_type, *scope_type;
    Shape tool_call, llm_call, llm_fields;
    Py_ssize_t span_id, name, start_ns, end_ns, status, attributes, events, scope; /* places in a raw span */
    Py_ssize_t raw, kind, dialect, index, agent, holder;                           /* in a span */
    Py_ssize_t scope_name, call_name, call_id, call_start, call_arguments, call_result;
    Py_ssize_t usage, overcounted, tokens[TOKENS];
    ToolRule **tools; /* by dialect; NULL for those whose spans are never plain */
    ModelRule **models;
    AnswerRule **answers;
    Py_ssize_t count;
    Refusals refusals;
    PyObject *control; /* whether a tool of this name steers the run */
    PyObject *failure; /* whether a result calls itself a failure */
    PyObject *prices;  /* the unit prices of a model */
    Prices priced[MOST_PRICES]; /* those that were asked for last */
    int next_priced;
    PyObject *decode;  /* reads JSON, as a memo does */
    PyObject *ok, *error, *from_span, *json, *mark_of_error, *mark_of_call;
} FactReader;

/* The scope that was asked about last, and what was found; it owns its reference. */
typedef struct {
    PyObject *scope;
    const void *rule;
    int odd;
} LastScope;

/* The raw span inside a span, borrowed; NULL where it is none. */
PyObject *facts_raw(FactReader *self, PyObject *span);
/* A dialect's place in the tables; -1 where it has none. */
Py_ssize_t facts_dialect(FactReader *self, PyObject *span);
/* Whether a raw span has plain attributes, and none of these scopes; -1 with an exception. Where it is so, its
 * attributes are a new reference. */
int facts_attributes(FactReader *self, PyObject *raw, PyObject *scopes, const void *rule, LastScope *last,
                     PyObject **attributes);
/* Whether a raw span has ended, has plain attributes, and none of these scopes, and either did not fail and has no
 * events, or failed where `failed` is given; -1 with an exception. Where it is so, its attributes are a new reference. */
int facts_plain(FactReader *self, PyObject *raw, PyObject *scopes, const void *rule, LastScope *last,
                PyObject **attributes, int *failed);
/* Calls `pause` every so often, unless it is None; -1 with an exception, also where a list is not as long any more. */
int facts_pace(PyObject *pause, PyObject *list, Py_ssize_t count, Py_ssize_t at);

/* Asks for what will be read of the spans further on in a sequence of spans, or of groups of them: at last for the values
 * of their fields. `rules` are those of the dialects, each of which begins with its fields; or NULL. */
void facts_soon(FactReader *self, PyObject *sequence, Py_ssize_t at, void *const *rules);

/* Takes the names in a frozenset, which must live as long as the rule does. */
int flat_rule_take(FlatRule *rule, PyObject *keys);
/* Whether text that begins as an object does is that of arguments of which nothing has to be left out; -1 with an
 * exception. */
int arguments_are_plain(FactReader *self, const ToolRule *rule, PyObject *memo, PyObject *text);

int tool_rule_take(ToolRule *rule, PyObject *said);
void tool_rule_clear(ToolRule *rule);
int model_rule_take(ModelRule *rule, PyObject *said);
void model_rule_clear(ModelRule *rule);
int answer_rule_take(AnswerRule *rule, PyObject *said);
void answer_rule_clear(AnswerRule *rule);

int refusals_take(Refusals *self, PyObject *said);
void refusals_clear(Refusals *self);
/* Whether a model of these groups of spans was told of a refusal; DOUBT, or -1 with an exception. */
int were_refused(FactReader *self, PyObject *groups);
/* Whether no two of these calls start at once, nor any before the one that it stands behind; or DOUBT. */
int start_apart(FactReader *self, PyObject *calls);

/* The call of a group of a model's spans, of which `slow` makes those that take a closer look: a new reference. */
PyObject *llm_call_of(FactReader *self, LastScope *last, PyObject *group, PyObject *slow);

PyObject *facts_tool_calls(FactReader *self, PyObject *const *given, Py_ssize_t number);
PyObject *facts_llm_calls(FactReader *self, PyObject *const *given, Py_ssize_t number);
PyObject *facts_unsaid(FactReader *self, PyObject *calls);
PyObject *facts_tokens(FactReader *self, PyObject *calls);
PyObject *facts_all_have_spans(FactReader *self, PyObject *const *given, Py_ssize_t number);

#endif
