/* The tokens of JSON: see wire.h for what is declined. */
#include "json.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#define ONES 0x0101010101010101ULL
#define HIGH 0x8080808080808080ULL
#define LONGEST_NUMBER 48

/* Looks at the next bytes of a string, as many as a WORD has. `stop` is set where the first quote, backslash or control
 * character stands among them, and is WORD where there is none; `high` gathers what tells whether all were ASCII. */
#if defined(__SSE2__)
#define WORD 16
static inline void
look(const unsigned char *at, uint64_t *high, int *stop)
{
    __m128i bytes = _mm_loadu_si128((const __m128i *)at);
    __m128i stops = _mm_or_si128(_mm_cmpeq_epi8(bytes, _mm_set1_epi8('"')), _mm_cmpeq_epi8(bytes, _mm_set1_epi8('\\')));
    stops = _mm_or_si128(stops, _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1F)), bytes));
    unsigned mask = (unsigned)_mm_movemask_epi8(stops), above = (unsigned)_mm_movemask_epi8(bytes);
    *stop = __builtin_ctz(mask | 1u << WORD);
    *high |= above & ((1u << *stop) - 1) ? HIGH : 0;
}
#else
#define WORD 8
static inline void
look(const unsigned char *at, uint64_t *high, int *stop)
{
    uint64_t word;
    memcpy(&word, at, WORD);
    uint64_t quote = word ^ ONES * '"', slash = word ^ ONES * '\\';
    uint64_t stops = ((quote - ONES) & ~quote) | ((slash - ONES) & ~slash) | ((word - ONES * 0x20) & ~word);
    *stop = WORD;
    if (stops & HIGH)
        for (*stop = 0; at[*stop] != '"' && at[*stop] != '\\' && at[*stop] >= 0x20;)
            *high |= at[(*stop)++] & 0x80 ? HIGH : 0;
    else
        *high |= word & HIGH;
}
#endif

/* Where a string stops to be plain: at a quote, a backslash or a control character. What lies before is copied to `to`,
 * unless that is NULL, and up to a WORD of what is behind. */
static inline const unsigned char *
plain(const unsigned char *at, const unsigned char *end, uint64_t *high, unsigned char *to)
{
    int stop = WORD;
    while (stop == WORD && end - at >= WORD) {
        look(at, high, &stop);
        if (to != NULL) {
            memcpy(to, at, WORD);
            to += WORD;
        }
        at += stop;
    }
    if (stop < WORD)
        return at;
    for (; at < end && *at != '"' && *at != '\\' && *at >= 0x20; at++) {
        *high |= *at & 0x80 ? HIGH : 0;
        if (to != NULL)
            *to++ = *at;
    }
    return at;
}

int
json_four_digits(const unsigned char *at, unsigned *found)
{
    *found = 0;
    for (int i = 0; i < 4; i++) {
        unsigned byte = at[i], lower = byte | 0x20; /* a zero at the end is no digit, so nothing behind it is read */
        unsigned digit = byte >= '0' && byte <= '9' ? byte - '0' : lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : 16;
        if (digit > 15)
            return 0;
        *found = *found << 4 | digit;
    }
    return 1;
}

/* Writes out the escape whose backslash is passed; NULL for one that is none, or half of a pair. */
static unsigned char *
escape(Json *json, unsigned char *to)
{
    static const unsigned char values[256] = {['"'] = '"',  ['\\'] = '\\', ['/'] = '/',  ['b'] = '\b',
                                              ['f'] = '\f', ['n'] = '\n',  ['r'] = '\r', ['t'] = '\t'};
    static const unsigned char leads[] = {0, 0xC0, 0xE0, 0xF0};
    unsigned code, low;
    unsigned byte = *json->at++;
    if (values[byte]) {
        *to++ = values[byte];
        return to;
    }
    if (byte != 'u' || !json_four_digits(json->at, &code))
        return NULL;
    json->at += 4;
    if (code >= 0xD800 && code < 0xE000) {
        if (code >= 0xDC00 || json->at[0] != '\\' || json->at[1] != 'u' || !json_four_digits(json->at + 2, &low) ||
            low < 0xDC00 || low >= 0xE000)
            return NULL;
        json->at += 6;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    if (code < 0x80)
        *to++ = (unsigned char)code;
    else {
        int more = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;
        *to++ = (unsigned char)(leads[more] | code >> 6 * more);
        while (more--)
            *to++ = (unsigned char)(0x80 | (code >> 6 * more & 0x3F));
    }
    return to;
}

static PyObject *
made(Json *json, const unsigned char *bytes, Py_ssize_t size, uint64_t high, int is_name)
{
    int ascii = !(high & HIGH);
    return is_name ? wire_name(json->wire, bytes, size, ascii) : wire_text(json->wire, bytes, size, ascii);
}

PyObject *
json_text(Json *json, int is_name)
{
    uint64_t high = 0;
    if (json_peek(json) != '"')
        return NULL;
    const unsigned char *start = ++json->at;
    json->at = plain(start, json->end, &high, NULL);
    if (*json->at == '"' && json->at < json->end)
        return made(json, start, json->at++ - start, high, is_name);
    if (*json->at != '\\')
        return NULL;
    /* Written out, no string is longer than it was. */
    if (json->scratch == NULL && (json->scratch = PyMem_RawMalloc(json->end - start + WORD)) == NULL) {
        PyErr_NoMemory();
        return NULL;
    }
    unsigned char *to = json->scratch;
    memcpy(to, start, json->at - start);
    to += json->at - start;
    while (*json->at == '\\') {
        json->at++;
        unsigned char *written = escape(json, to);
        if (written == NULL)
            return NULL;
        high |= written - to > 1 ? HIGH : 0;
        start = json->at;
        json->at = plain(start, json->end, &high, written);
        to = written + (json->at - start);
    }
    if (*json->at != '"')
        return NULL;
    json->at++;
    return made(json, json->scratch, to - json->scratch, high, is_name);
}

int
json_key(Json *json, const Key *keys, int count, unsigned *seen, int *last)
{
    unsigned byte = json_peek(json);
    if (byte == '}') {
        json->at++;
        return OVER;
    }
    if (*seen) {
        if (byte != ',')
            return ODD;
        json->at++;
        byte = json_peek(json);
    }
    if (byte != '"')
        return ODD;
    const char *start = (const char *)json->at + 1;
    Py_ssize_t left = (const char *)json->end - start;
    for (int i = 1; i <= count; i++) {
        int number = *last + i < count ? *last + i : *last + i - count; /* most writers keep to one order */
        const Key *key = &keys[number];
        if (left > key->size && start[key->size] == '"' && !memcmp(start, key->name, key->size)) {
            json->at += key->size + 2;
            if (*seen & 1u << number || !json_take(json, ':'))
                return ODD;
            *seen |= 1u << number;
            *last = number;
            return number;
        }
    }
    return ODD;
}

int
json_more(Json *json, int *count)
{
    if (json_take(json, ']'))
        return 0;
    if ((*count)++)
        return json_take(json, ',') ? 1 : ODD;
    return 1;
}

/* The digits that come next, without zeros before others; how many they are, 0 if they are declined. */
static int
digits(Json *json, unsigned long long *number)
{
    const unsigned char *start = json->at;
    *number = 0;
    while (*json->at >= '0' && *json->at <= '9' && json->at - start < 20)
        *number = *number * 10 + (*json->at++ - '0');
    Py_ssize_t size = json->at - start;
    return size > 19 || (size > 1 && *start == '0') ? 0 : (int)size;
}

int
json_natural(Json *json, unsigned long long *number)
{
    int quoted = json_take(json, '"');
    return digits(json, number) && (!quoted || *json->at++ == '"');
}

PyObject *
json_integer(Json *json)
{
    unsigned long long number;
    int quoted = json_take(json, '"'), negative = *json->at == '-';
    json->at += negative;
    int size = digits(json, &number);
    if (!size || size > 18 || (negative && !number) || (quoted && *json->at++ != '"'))
        return NULL;
    return PyLong_FromLongLong(negative ? -(long long)number : (long long)number);
}

PyObject *
json_real(Json *json)
{
    char text[LONGEST_NUMBER + 1];
    int size = 0, whole = 1;
    unsigned long long number;
    json_peek(json);
    const unsigned char *start = json->at;
    json->at += *json->at == '-';
    if (!digits(json, &number))
        return NULL;
    if (*json->at == '.') {
        whole = 0;
        json->at++;
        if (!(*json->at >= '0' && *json->at <= '9'))
            return NULL;
        while (*json->at >= '0' && *json->at <= '9')
            json->at++;
    }
    if (*json->at == 'e' || *json->at == 'E') {
        whole = 0;
        json->at++;
        json->at += *json->at == '-' || *json->at == '+';
        if (!(*json->at >= '0' && *json->at <= '9'))
            return NULL;
        while (*json->at >= '0' && *json->at <= '9')
            json->at++;
    }
    size = json->at - start > LONGEST_NUMBER ? 0 : (int)(json->at - start);
    if (!size || (whole && size > 15))
        return NULL;
    memcpy(text, start, size);
    text[size] = 0;
    double real = PyOS_string_to_double(text, NULL, PyExc_OverflowError);
    if (real == -1.0 && PyErr_Occurred()) {
        PyErr_Clear();
        return NULL;
    }
    return PyFloat_FromDouble(real);
}

int
json_id(Json *json, Py_ssize_t size, Bytes *id)
{
    unsigned any = 0;
    if (!json_take(json, '"') || json->end - json->at <= size)
        return 0;
    id->at = json->at;
    id->end = json->at += size;
    for (const unsigned char *at = id->at; at < id->end; at++) {
        if (!((*at >= '0' && *at <= '9') || (*at >= 'a' && *at <= 'f')))
            return 0;
        any |= *at - '0';
    }
    return any && *json->at++ == '"';
}

int
json_extent(Json *json, Bytes *extent)
{
    uint64_t high = 0;
    Py_ssize_t depth = 0;
    if (json_peek(json) != '{')
        return 0;
    extent->at = json->at;
    while (json->at < json->end) {
        unsigned byte = *json->at++;
        if (byte == '"') {
            while (*(json->at = plain(json->at, json->end, &high, NULL)) != '"') {
                if (*json->at != '\\' || json->end - json->at < 2)
                    return 0;
                json->at += 2;
            }
            json->at++;
        }
        else if (byte == '{' || byte == '[')
            depth++;
        else if ((byte == '}' || byte == ']') && --depth == 0) {
            extent->end = json->at;
            return 1;
        }
    }
    return 0;
}
