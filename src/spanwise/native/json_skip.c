/* Passing by what nobody asked for: see wire.h for what is declined. */
#include "json.h"
#if defined(__SSE2__)
#include <emmintrin.h>
#endif

/* What stands behind a backslash, where that is one character. */
static const unsigned char short_escape[256] = {['"'] = 1, ['\\'] = 1, ['/'] = 1, ['b'] = 1,
                                                ['f'] = 1, ['n'] = 1,  ['r'] = 1, ['t'] = 1};

#if defined(__SSE2__)
#define BLOCK 64
#define ODD_BITS 0xAAAAAAAAAAAAAAAAULL

typedef struct {
    __m128i first, second, third, fourth;
} Block;

static inline Block
block_of(const unsigned char *at)
{
    const __m128i *parts = (const __m128i *)at;
    return (Block){_mm_loadu_si128(parts), _mm_loadu_si128(parts + 1), _mm_loadu_si128(parts + 2),
                   _mm_loadu_si128(parts + 3)};
}

/* A bit for each byte that is not 0. */
static inline uint64_t
bits_of(__m128i first, __m128i second, __m128i third, __m128i fourth)
{
    return (uint64_t)_mm_movemask_epi8(first) | (uint64_t)_mm_movemask_epi8(second) << 16 |
           (uint64_t)_mm_movemask_epi8(third) << 32 | (uint64_t)_mm_movemask_epi8(fourth) << 48;
}

/* A bit for each byte that is the given one. */
static inline uint64_t
equal(Block block, char byte)
{
    __m128i wanted = _mm_set1_epi8(byte);
    return bits_of(_mm_cmpeq_epi8(block.first, wanted), _mm_cmpeq_epi8(block.second, wanted),
                   _mm_cmpeq_epi8(block.third, wanted), _mm_cmpeq_epi8(block.fourth, wanted));
}

/* Whether no byte is a quote, a backslash or a control character. */
static inline int
is_plain(Block block)
{
    __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\'), found = _mm_setzero_si128();
#define LOOK(part)                                                                                                     \
    found = _mm_or_si128(found, _mm_or_si128(_mm_or_si128(_mm_cmpeq_epi8(part, quote), _mm_cmpeq_epi8(part, slash)),   \
                                             _mm_cmpeq_epi8(_mm_min_epu8(part, _mm_set1_epi8(0x1F)), part)))
    LOOK(block.first);
    LOOK(block.second);
    LOOK(block.third);
    LOOK(block.fourth);
    return !_mm_movemask_epi8(found);
}

static inline uint64_t
controls(Block block)
{
    __m128i most = _mm_set1_epi8(0x1F);
    return bits_of(_mm_cmpeq_epi8(_mm_min_epu8(block.first, most), block.first),
                   _mm_cmpeq_epi8(_mm_min_epu8(block.second, most), block.second),
                   _mm_cmpeq_epi8(_mm_min_epu8(block.third, most), block.third),
                   _mm_cmpeq_epi8(_mm_min_epu8(block.fourth, most), block.fourth));
}

/* The bytes that a backslash stands for together with them: behind one, unless that one is escaped itself. A run of
 * backslashes is taken at once, by what subtracting carries through it. `carried` is whether the first byte is. */
static inline uint64_t
escaped_of(uint64_t slashes, uint64_t *carried)
{
    uint64_t open = slashes & ~*carried;
    uint64_t ends = (((open << 1) | ODD_BITS) - open) ^ ODD_BITS;
    uint64_t escaped = ends ^ (slashes | *carried);
    *carried = (ends & slashes) >> (BLOCK - 1);
    return escaped;
}
#endif

/* Where a string's text is to be looked at closely: behind what is plain, and behind escapes of one character. */
static const unsigned char *
passed_plain(const unsigned char *at, const unsigned char *end)
{
#if defined(__SSE2__)
    uint64_t carried = 0;
    while (end - at >= BLOCK) {
        Block block = block_of(at);
        if (!carried && is_plain(block)) {
            at += BLOCK;
            continue;
        }
        uint64_t stops = equal(block, '"'), slashes = equal(block, '\\'), escaped = 0;
        if (slashes | carried) {
            uint64_t known = stops | slashes;
            escaped = escaped_of(slashes, &carried);
            for (const char *sign = "nrtbf/"; *sign && escaped & ~known; sign++)
                known |= equal(block, *sign);
            stops = (stops & ~escaped) | (escaped & ~known);
        }
        stops |= controls(block);
        if (stops) {
            int stop = __builtin_ctzll(stops);
            /* An escape of several characters, or none, is looked at from its backslash on. */
            return at + stop - (int)(escaped >> stop & 1);
        }
        at += BLOCK;
    }
    at -= carried;
#endif
    for (; at < end && *at != '"' && *at >= 0x20; at += 1 + (*at == '\\'))
        if (*at == '\\' && !short_escape[at[1]])
            break;
    return at;
}

/* Passes an escape of several characters; NULL for what is none, or half of a pair. */
static const unsigned char *
passed_escape(const unsigned char *at)
{
    unsigned code, low;
    if (at[1] != 'u' || !json_four_digits(at + 2, &code))
        return NULL;
    at += 6;
    if (code < 0xD800 || code >= 0xE000)
        return at;
    if (code >= 0xDC00 || at[0] != '\\' || at[1] != 'u' || !json_four_digits(at + 2, &low) || low < 0xDC00 ||
        low >= 0xE000)
        return NULL;
    return at + 6;
}

/* Escapes are looked at but not written out. */
int
json_passed_text(Json *json)
{
    const unsigned char *at = json->at;
    while (*(at = passed_plain(at, json->end)) == '\\' && at < json->end)
        if ((at = passed_escape(at)) == NULL)
            return 0;
    json->at = at + 1;
    return *at == '"' && at < json->end;
}

static int
passed_number(Json *json)
{
    const unsigned char *start = json->at += *json->at == '-';
    while (*json->at >= '0' && *json->at <= '9')
        json->at++;
    int sound = json->at > start && (*start != '0' || json->at - start == 1);
    for (int part = 0; part < 2; part++) {
        if (part ? (*json->at | 0x20) != 'e' : *json->at != '.')
            continue;
        json->at++;
        json->at += part && (*json->at == '-' || *json->at == '+');
        sound = sound && *json->at >= '0' && *json->at <= '9';
        while (*json->at >= '0' && *json->at <= '9')
            json->at++;
    }
    return sound;
}

int
json_member(Json *json, int *count, Bytes *key)
{
    if (json_take(json, '}'))
        return 0;
    if ((*count)++ && !json_take(json, ','))
        return ODD;
    if (!json_take(json, '"'))
        return ODD;
    key->at = json->at;
    if (!json_passed_text(json))
        return ODD;
    key->end = json->at - 1;
    return json_take(json, ':') ? 1 : ODD;
}

int
json_passed(Json *json, int depth, Bytes *extent)
{
    static const char *const words[] = {"true", "false", "null"};
    Bytes ignored;
    int count = 0, more = 1, sound = 0;
    unsigned byte = json_peek(json);
    extent->at = json->at;
    if (byte == '"') {
        json->at++;
        sound = json_passed_text(json);
    }
    else if (byte == '{' || byte == '[') {
        json->at++;
        while (depth && (more = byte == '{' ? json_member(json, &count, &ignored) : json_more(json, &count)) > 0 &&
               json_passed(json, depth - 1, &ignored)) {
        }
        sound = more == 0;
    }
    else if (byte == '-' || (byte >= '0' && byte <= '9'))
        sound = passed_number(json);
    else
        for (int at = 0; at < 3 && !sound; at++) {
            size_t size = strlen(words[at]);
            sound = (size_t)(json->end - json->at) >= size && !memcmp(json->at, words[at], size);
            json->at += sound ? size : 0;
        }
    extent->end = json->at;
    return sound;
}
