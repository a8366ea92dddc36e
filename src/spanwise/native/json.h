/* JSON text, as the reader of spans walks through it. Python.h must come first. */
#ifndef SPANWISE_JSON_H
#define SPANWISE_JSON_H

#include "wire.h"
#include <stdint.h>

/* A place in a text. The byte at its end is 0, as it is behind the bytes of every bytes object. */
typedef struct {
    Wire *wire;
    const unsigned char *at, *end;
    unsigned char *scratch; /* where strings with escapes are written out; NULL until there is one */
    PyObject *last;         /* the trace id that came last, or NULL */
} Json;

typedef struct {
    const char *name;
    int size;
} Key;

#define KEY(name) {name, sizeof(name) - 1}

enum { OVER = -1, ODD = -2 };

/* The next byte that is not white space. */
static inline unsigned
json_peek(Json *json)
{
    while (*json->at == ' ' || *json->at == '\n' || *json->at == '\r' || *json->at == '\t')
        json->at++;
    return *json->at;
}

/* Whether this byte comes next; if so, it is passed. */
static inline int
json_take(Json *json, unsigned byte)
{
    if (json_peek(json) != byte)
        return 0;
    json->at++;
    return 1;
}

/* The number of the key that comes next in an object whose brace is passed, its colon passed, too; OVER at the closing
 * brace, ODD at all else, such as a key that is not listed or came before. `seen` and `last` begin as 0 and -1. */
int json_key(Json *json, const Key *keys, int count, unsigned *seen, int *last);
/* Whether an element follows in a list whose bracket is passed; ODD where neither it nor the list's end does. */
int json_more(Json *json, int *count);
/* A string: its text, or the name that it is. */
PyObject *json_text(Json *json, int is_name);
/* A whole number, with or without quotes, of at most 19 digits, or of 18 with its sign. */
int json_natural(Json *json, unsigned long long *number);
PyObject *json_integer(Json *json);
PyObject *json_real(Json *json);
/* An id of so many hexadecimal digits, in lower case and not all zero. */
int json_id(Json *json, Py_ssize_t size, Bytes *id);
/* The extent of an object, whatever is in it. */
int json_extent(Json *json, Bytes *extent);
/* The number that four hexadecimal digits are. */
int json_four_digits(const unsigned char *at, unsigned *found);
/* The next member of an object whose brace is passed: its key as it is written, its colon passed, too; 0 at the closing
 * brace, ODD at all else. */
int json_member(Json *json, int *count, Bytes *key);
/* Any value, nested so many levels deep at most: where it stands. All of JSON's grammar is looked at, but not whether
 * texts are UTF-8. */
int json_passed(Json *json, int depth, Bytes *extent);
/* The rest of a string, from a place in it that is in no escape. */
int json_passed_text(Json *json);
/* Nanoseconds of a time in UTC since 1970, or of a duration: text with its quotes, whatever is in it. */
int iso_time(Bytes text, long long *ns);
int iso_duration(Bytes text, long long *ns);
/* The attributes of a span, an event or a link; an empty list leaves NULL there. */
int json_attributes(Json *json, PyObject **into);

#endif
