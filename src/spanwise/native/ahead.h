/* Asking for memory some spans before it is read: what a captured span holds was mostly written by another core, or lies
 * in no cache at all, and whoever reads one span after the other would wait for each. Python.h must come first.
 */
#ifndef SPANWISE_AHEAD_H
#define SPANWISE_AHEAD_H

#include "core.h"

/* So many spans lie between asking for one part of a span and asking for what that part points to. */
#define AHEAD 6
/* The names and values of a span are asked for up to so many lines of 64 bytes; four of them fill one. */
#define LINES_OF_KEYS 10

#if defined(__GNUC__)
#define SOON(at) __builtin_prefetch(at)
/* A function that does nothing else has no effect that a compiler sees: unless it is inlined at once it is left out. */
#define ASKING static inline __attribute__((always_inline)) void
#else
#define SOON(at) ((void)(at))
#define ASKING static inline void
#endif

/* An object and the line behind its first. */
ASKING
soon_whole(const void *object)
{
    SOON(object);
    SOON((const char *)object + 64);
}

/* The names and values of attributes, which may be NULL. */
ASKING
soon_keys(PyObject *attributes)
{
    if (attributes == NULL || !PyDict_CheckExact(attributes))
        return;
    const char *keys = (const char *)((PyDictObject *)attributes)->ma_keys;
    Py_ssize_t lines = 2 + PyDict_GET_SIZE(attributes) / 4;
    for (Py_ssize_t line = 0; line < LINES_OF_KEYS && line < lines; line++)
        SOON(keys + 64 * line);
}

#endif
