/* coder.h - adaptive binary range coder for numbers under contexts; files of the store only
 *
 * A number is a token (its bit count and highest bits), coded bit by bit with adaptive odds per context; up to four
 * more bits, with odds per context and token; and the remaining bits, packed without coding.
 */
#ifndef HD_FORMAT_HEDDLE_CODEC_CODER_H
#define HD_FORMAT_HEDDLE_CODEC_CODER_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- tokens and packed bits ---- */

/* A token is a value below TOKEN_PLAIN, or else the bit count and the two bits below the highest one. */
enum { TOKEN_PLAIN = 16, TOKEN_PLAIN_BITS = 4, TOKEN_HIGH_BITS = 2 };

static inline unsigned token_of(uint64_t value, unsigned *out_rest)
{
    if (value < TOKEN_PLAIN) {
        *out_rest = 0;
        return (unsigned)value;
    }
    unsigned top = 63 - (unsigned)__builtin_clzll(value), rest = top - TOKEN_HIGH_BITS;
    *out_rest = rest;
    return TOKEN_PLAIN + ((top - TOKEN_PLAIN_BITS) << TOKEN_HIGH_BITS) + (unsigned)(value >> rest & 3);
}

/* Number of bits after the token. */
static inline unsigned token_rest(unsigned token)
{
    return token < TOKEN_PLAIN ? 0 : TOKEN_PLAIN_BITS - TOKEN_HIGH_BITS + ((token - TOKEN_PLAIN) >> TOKEN_HIGH_BITS);
}

static inline uint64_t token_value(unsigned token, uint64_t bits)
{
    return token < TOKEN_PLAIN ? token : (UINT64_C(4) | (token & 3)) << token_rest(token) | bits;
}

typedef struct bit_writer {
    uint8_t *p;
    uint64_t hold;
    unsigned held;
} bit_writer;

/* Lowest bit first; count ≤ 61, value has no more bits. */
static inline void bits_put(bit_writer *writer, uint64_t value, unsigned count)
{
    writer->hold |= value << writer->held;
    unsigned now = writer->held + count;
    if (now >= 64) {
        for (unsigned i = 0; i < 8; i++) *writer->p++ = (uint8_t)(writer->hold >> 8 * i);
        writer->hold = writer->held ? value >> (64 - writer->held) : 0;
        now -= 64;
    }
    writer->held = now;
}

static inline void bits_end(bit_writer *writer)
{
    for (; writer->held; writer->held = writer->held > 8 ? writer->held - 8 : 0, writer->hold >>= 8)
        *writer->p++ = (uint8_t)writer->hold;
}

/* Reading beyond the end gives zeros and is seen in `at`. */
typedef struct bit_reader {
    const uint8_t *data;
    uint64_t size, at; /* bytes; bits */
} bit_reader;

static inline uint64_t bits_take(bit_reader *reader, unsigned count)
{
    uint64_t byte = reader->at / 8, value = 0, left = byte < reader->size ? reader->size - byte : 0;
    unsigned shift = reader->at % 8;
    for (unsigned i = 0; i < 8 && i < left; i++) value |= (uint64_t)reader->data[byte + i] << 8 * i;
    value >>= shift;
    if (shift && left > 8) value |= (uint64_t)reader->data[byte + 8] << (64 - shift);
    reader->at += count;
    return value & ((UINT64_C(1) << count) - 1);
}

/* All was read, and no more than there was. */
static inline bool bits_done(const bit_reader *reader)
{
    return (reader->at + 7) / 8 == reader->size;
}

/* ---- coder ---- */

enum {
    CODER_NODES = 64, /* odds of a context, or of a context and token */
    CODER_REGIONS = 1 << 14,
    CODER_REGIONS_MIN = 1 << 8,
    CODER_REST = 4, /* bits behind the token that have odds */
};

typedef struct store_coder {
    uint16_t *odds; /* 12 bits: the odds of a 1; 4 bits: how often they were met */
    uint32_t mask;  /* of regions */
    uint32_t low, high, code;
    uint8_t *out;
    const uint8_t *in, *end;
} store_coder;

/* `count` numbers will be coded. */
static inline void coder_begin(store_coder *coder, uint16_t *odds, uint32_t count)
{
    *coder = (store_coder){.odds = odds, .mask = CODER_REGIONS_MIN - 1, .high = UINT32_MAX};
    while (coder->mask + 1 < CODER_REGIONS && coder->mask < count) coder->mask = coder->mask * 2 + 1;
    for (size_t i = 0; i < (size_t)(coder->mask + 1) * CODER_NODES; i++) odds[i] = 2048 << 4;
}

static inline void coder_learn(uint16_t *odds, unsigned bit)
{
    /* 65536 / (n + 1.6) */
    static const uint16_t rates[16] = {40960, 25206, 18204, 14247, 11703, 9930, 8623, 7621,
                                       6827,  6183,  5650,  5201,  4819,  4489, 4201, 3500};
    int32_t was = *odds, n = was & 15, goal = (int32_t)(0 - bit) & 4095;
    int32_t more = ((goal - (was >> 4)) * (int32_t)rates[n] + 32768) >> 16;
    *odds = (uint16_t)(was + more * 16 + (n < 15));
}

/* The odds of a 1, in 1/4096. Those of the narrow context have a weight that grows with its use; the rest is that of
 * the wide context. */
static inline uint32_t coder_mix(uint16_t wide, uint16_t narrow)
{
    static const int16_t trust[16] = {24, 80, 112, 136, 152, 164, 174, 182, 189, 195, 200, 205, 209, 213, 216, 224};
    int32_t a = wide >> 4, b = narrow >> 4;
    int32_t p = a + (((b - a) * trust[narrow & 15]) >> 8);
    return (uint32_t)(p < 1 ? 1 : p);
}

static inline uint32_t coder_middle(const store_coder *coder, uint32_t odds)
{
    return coder->low + (uint32_t)((uint64_t)(coder->high - coder->low) * odds >> 12);
}

static inline void coder_narrow(store_coder *coder, uint32_t middle, unsigned bit)
{
    if (bit)
        coder->high = middle;
    else
        coder->low = middle + 1;
}

static inline void coder_put(store_coder *coder, uint16_t *wide, uint16_t *narrow, unsigned bit)
{
    coder_narrow(coder, coder_middle(coder, coder_mix(*wide, *narrow)), bit);
    coder_learn(wide, bit);
    coder_learn(narrow, bit);
    while (((coder->low ^ coder->high) & 0xff000000) == 0) {
        *coder->out++ = (uint8_t)(coder->high >> 24);
        coder->low <<= 8;
        coder->high = coder->high << 8 | 255;
    }
}

/* Decodes a bit with given odds. Bits are hard to predict, so there is no branch. */
static inline unsigned coder_take(store_coder *coder, uint32_t odds)
{
    uint32_t middle = coder_middle(coder, odds);
    unsigned bit = coder->code <= middle;
    uint32_t mask = 0 - (uint32_t)bit;
    coder->high = (middle & mask) | (coder->high & ~mask);
    coder->low = (coder->low & mask) | ((middle + 1) & ~mask);
    while (((coder->low ^ coder->high) & 0xff000000) == 0) {
        coder->low <<= 8;
        coder->high = coder->high << 8 | 255;
        coder->code = coder->code << 8 | (coder->in < coder->end ? *coder->in++ : 0);
    }
    return bit;
}

/* Decodes `count` bits of a binary tree, whose node n has odds a[n] and b[n]; returns node 1 followed by the bits.
 * While a bit is decoded the odds of both possible next nodes are mixed, since the time goes into dependent steps. */
static inline unsigned coder_take_tree(store_coder *coder, uint16_t *a, uint16_t *b, unsigned count)
{
    unsigned node = 1;
    uint32_t odds = coder_mix(a[1], b[1]);
    for (unsigned left = count; left--;) {
        uint32_t zero = 0, one = 0;
        if (left) zero = coder_mix(a[node * 2], b[node * 2]), one = coder_mix(a[node * 2 + 1], b[node * 2 + 1]);
        unsigned bit = coder_take(coder, odds);
        coder_learn(&a[node], bit);
        coder_learn(&b[node], bit);
        node = node * 2 + bit;
        odds = bit ? one : zero;
    }
    return node;
}

static inline uint16_t *coder_region(const store_coder *coder, uint64_t key)
{
    key *= 0x9e3779b97f4a7c15u;
    return coder->odds + (size_t)(key >> 40 & coder->mask) * CODER_NODES;
}

/* Ends the bytes. */
static inline void coder_end(store_coder *coder)
{
    for (unsigned i = 0; i < 4; i++) *coder->out++ = (uint8_t)(coder->high >> (24 - 8 * i));
}

static inline void coder_open(store_coder *coder, const uint8_t *data, size_t size)
{
    coder->in = data;
    coder->end = data + size;
    for (unsigned i = 0; i < 4; i++) coder->code = coder->code << 8 | (coder->in < coder->end ? *coder->in++ : 0);
}

/* A number under a context that is narrow and one that is wide. */
static inline void coder_put_number(store_coder *coder, bit_writer *rest_bits, uint64_t wide, uint64_t narrow,
                                    uint64_t value)
{
    unsigned rest, token = token_of(value, &rest), node = 1;
    uint16_t *a = coder_region(coder, wide), *b = coder_region(coder, narrow);
    for (unsigned i = 8; i-- > 2;) {
        unsigned bit = token >> i & 1;
        coder_put(coder, &a[node], &b[node], bit);
        node = node * 2 + bit;
    }
    a = coder_region(coder, node);
    b = coder_region(coder, narrow + node);
    unsigned high = token >> 1 & 1;
    coder_put(coder, &a[0], &b[0], high);
    coder_put(coder, &a[1 + high], &b[1 + high], token & 1);
    if (!rest) return;
    unsigned coded = rest < CODER_REST ? rest : CODER_REST, place = 2 + (token & 3) * 15;
    node = 1;
    for (unsigned i = 0; i < coded; i++) {
        unsigned bit = value >> (rest - 1 - i) & 1;
        coder_put(coder, &a[place + node], &b[place + node], bit);
        node = node * 2 + bit;
    }
    if (rest > coded) bits_put(rest_bits, value & ((UINT64_C(1) << (rest - coded)) - 1), rest - coded);
}

static inline uint64_t coder_take_number(store_coder *coder, bit_reader *rest_bits, uint64_t wide, uint64_t narrow)
{
    unsigned node = coder_take_tree(coder, coder_region(coder, wide), coder_region(coder, narrow), 6);
    uint16_t *a = coder_region(coder, node), *b = coder_region(coder, narrow + node);
    uint32_t zero = coder_mix(a[1], b[1]), one = coder_mix(a[2], b[2]);
    unsigned high = coder_take(coder, coder_mix(a[0], b[0])), low = coder_take(coder, high ? one : zero);
    coder_learn(&a[0], high);
    coder_learn(&b[0], high);
    coder_learn(&a[1 + high], low);
    coder_learn(&b[1 + high], low);
    unsigned token = (node - 64) * 4 + high * 2 + low, rest = token_rest(token);
    if (!rest) return token;
    unsigned coded = rest < CODER_REST ? rest : CODER_REST, place = 2 + (token & 3) * 15;
    uint64_t bits = coder_take_tree(coder, a + place, b + place, coded) - (1u << coded);
    if (rest > coded) bits = bits << (rest - coded) | bits_take(rest_bits, rest - coded);
    return token_value(token, bits);
}

#endif
