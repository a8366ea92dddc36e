/* Numbers that are the same for arguments that are nearly the same, recorded as JSON or decoded. */
#ifndef SPANWISE_ALIKE_H
#define SPANWISE_ALIKE_H

#include "core.h"

#include <stdint.h>

#define DEEPEST 24
#define MEMBERS 24

/* What the number of each kind of value begins with. */
#define TEXT_HASH 0xcbf29ce484222325u
#define PLAIN_HASH 0x9e3779b97f4a7c15u
#define OBJECT_HASH 0x2545f4914f6cdd1du
#define LIST_HASH 0x6c62272e07bb0142u

static inline uint64_t
mixed(uint64_t value)
{
    value ^= value >> 30;
    value *= 0xbf58476d1ce4e5b9u;
    value ^= value >> 27;
    value *= 0x94d049bb133111ebu;
    return value ^ (value >> 31);
}

static inline uint64_t
added(uint64_t hash, unsigned char sign)
{
    return (hash ^ sign) * 0x100000001b3u;
}

/* What a member adds to the number of its object. */
static inline uint64_t
member(uint64_t key, uint64_t value)
{
    return mixed(key * 3 + mixed(value));
}

/* A byte's small letter or digit; 0 for what stands between words, 1 for what is not read here. */
static inline unsigned char
small(unsigned char code)
{
    if ((code >= 'a' && code <= 'z') || (code >= '0' && code <= '9'))
        return code;
    if (code >= 'A' && code <= 'Z')
        return (unsigned char)(code + 32);
    return code < 32 || code > 126;
}

/* The number of a decoded value within so many others; 0 where it is not read here. */
int decoded_number(PyObject *value, uint64_t *number, int depth);

#endif
