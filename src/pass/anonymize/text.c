/* text.c - replaces the words of a text, of the strings in a JSON text, of a stack frame
 *
 * A word is a run of letters, digits, underscores and bytes above 0x7f, several joined by hyphens ("node-17"). Network
 * addresses are one word. The hash is SipHash-2-4, which does not reveal its key.
 */
#include <string.h>
#include <unistd.h>
#if defined(__APPLE__)
#include <sys/random.h>
#endif

#include "base/hash.h"
#include "pass/anonymize/impl.h"
#include "trace/text.h"

/* ---- SipHash-2-4 ---- */

static uint64_t rotate(uint64_t x, unsigned bits)
{
    return x << bits | x >> (64 - bits);
}

static void sip_round(uint64_t v[4])
{
    v[0] += v[1];
    v[2] += v[3];
    v[1] = rotate(v[1], 13) ^ v[0];
    v[3] = rotate(v[3], 16) ^ v[2];
    v[0] = rotate(v[0], 32);
    v[2] += v[1];
    v[0] += v[3];
    v[1] = rotate(v[1], 17) ^ v[2];
    v[3] = rotate(v[3], 21) ^ v[0];
    v[2] = rotate(v[2], 32);
}

static void sip_word(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    for (int i = 0; i < 2; i++) sip_round(v);
    v[0] ^= word;
}

static uint64_t sip_hash(const uint64_t key[2], const char *data, size_t size)
{
    uint64_t v[4] = {key[0] ^ 0x736f6d6570736575u, key[1] ^ 0x646f72616e646f6du, key[0] ^ 0x6c7967656e657261u,
                     key[1] ^ 0x7465646279746573u};
    uint64_t last = (uint64_t)size << 56;
    for (; size >= 8; data += 8, size -= 8) sip_word(v, hd_load64(data));
    for (size_t i = 0; i < size; i++) last |= (uint64_t)(unsigned char)data[i] << 8 * i;
    sip_word(v, last);
    v[2] ^= 0xff;
    for (int i = 0; i < 4; i++) sip_round(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}

bool anon_key(uint64_t out[2], const char *salt)
{
    if (!salt) return getentropy(out, 2 * sizeof *out) == 0;
    for (uint64_t i = 0; i < 2; i++) out[i] = sip_hash((const uint64_t[2]){i, 0}, salt, strlen(salt));
    return true;
}

/* ---- words ---- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_hex(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'f');
}

static bool is_word(char c)
{
    return is_digit(c) || ((c | 0x20) >= 'a' && (c | 0x20) <= 'z') || c == '_' || (unsigned char)c >= 0x80;
}

/* The end of an IPv4 address at `at`; 0: there is none. */
static size_t end_of_quad(hd_string text, size_t at)
{
    for (int group = 0;; group++) {
        size_t first = at;
        while (at < text.size && is_digit(text.data[at])) at++;
        if (at == first || at - first > 3) return 0;
        if (group == 3) break;
        if (at >= text.size || text.data[at++] != '.') return 0;
    }
    bool goes_on = at < text.size && (is_word(text.data[at]) ||
                                      (text.data[at] == '.' && at + 1 < text.size && is_digit(text.data[at + 1])));
    return goes_on ? 0 : at;
}

/* The end of an IPv6 or Ethernet address; 0: there is none. */
static size_t end_of_colons(hd_string text, size_t at)
{
    size_t colons = 0, first = at;
    bool has_gap = false;
    for (; at < text.size && (is_hex(text.data[at]) || text.data[at] == ':'); at++) {
        colons += text.data[at] == ':';
        has_gap |= text.data[at] == ':' && at > first && text.data[at - 1] == ':';
    }
    if ((at < text.size && is_word(text.data[at])) || text.data[at - 1] == ':') return 0;
    return colons >= 5 || has_gap ? at : 0;
}

/* "\\u00e9" in a JSON string: a letter. */
static bool is_escaped_letter(hd_string text, size_t at, bool escapes)
{
    return escapes && at + 6 <= text.size && text.data[at] == '\\' && text.data[at + 1] == 'u';
}

/* The end of the word at `at`, with the words that hyphens join to it. */
static size_t end_of_word(hd_string text, size_t at, bool escapes)
{
    while (at < text.size) {
        bool joins = text.data[at] == '-' && at + 1 < text.size && is_word(text.data[at + 1]);
        if (is_escaped_letter(text, at, escapes))
            at += 6;
        else if (is_word(text.data[at]) || joins)
            at++;
        else
            break;
    }
    return at;
}

static bool is_public(const char *word, size_t size)
{
    const char *end = word + size;
    for (const char *part = word; part < end;) {
        const char *hyphen = memchr(part, '-', (size_t)(end - part));
        const char *stop = hyphen ? hyphen : end;
        if (!anon_is_public(part, (size_t)(stop - part))) return false;
        part = stop + 1;
    }
    return true;
}

static bool is_of_host(const anon_words *words, uint64_t hash)
{
    for (size_t i = 0; i < words->host_count; i++) {
        if (words->hosts[i] == hash) return true;
    }
    return false;
}

/* "layer_3" and "layer_4" stay numbered. */
static size_t number_size(const char *word, size_t size)
{
    size_t at = size;
    while (at && is_digit(word[at - 1])) at--;
    return at > 1 && at < size && word[at - 1] == '_' ? size - at + 1 : 0;
}

static void put_hash(hd_json_out *out, const uint64_t key[2], const char *word, size_t size, size_t number)
{
    char digits[17] = {'x'};
    uint64_t hash = sip_hash(key, word, size - number);
    for (int i = 0; i < 16; i++) digits[i + 1] = "0123456789abcdef"[hash >> (60 - 4 * i) & 15];
    hd_json_put(out, digits, sizeof digits);
    hd_json_put(out, word + size - number, number);
}

/* Append one word; returns whether it was replaced. */
static bool put_word(hd_json_out *out, const anon_words *words, const char *word, size_t size, bool is_address)
{
    bool hide = is_address ? words->all || words->addresses : words->all && !is_public(word, size);
    if (!hide && words->addresses && words->host_count) hide = is_of_host(words, sip_hash(words->key, word, size));
    if (hide)
        put_hash(out, words->key, word, size, is_address ? 0 : number_size(word, size));
    else
        hd_json_put(out, word, size);
    return hide;
}

/* The words of text[at … end). `escapes`: of the inside of a JSON string. */
static bool put_words(hd_json_out *out, const anon_words *words, hd_string text, bool escapes)
{
    bool changed = false;
    for (size_t at = 0; at < text.size;) {
        char c = text.data[at];
        if (!is_word(c) && !is_escaped_letter(text, at, escapes)) {
            size_t size = escapes && c == '\\' && at + 1 < text.size ? 2 : 1;
            hd_json_put(out, text.data + at, size);
            at += size;
            continue;
        }
        size_t end = is_digit(c) ? end_of_quad(text, at) : 0;
        if (!end && is_hex(c)) end = end_of_colons(text, at);
        bool is_address = end != 0;
        if (!end) end = end_of_word(text, at, escapes);
        changed |= put_word(out, words, text.data + at, end - at, is_address);
        at = end;
    }
    return changed;
}

bool anon_put_text(hd_json_out *out, const anon_words *words, hd_string text)
{
    return put_words(out, words, text, false);
}

/* "host1": public elsewhere, and no name of a thing if a host has it. */
static bool is_numbered(const char *word, size_t size)
{
    bool has_letter = false;
    for (size_t i = 0; i < size; i++) has_letter |= (word[i] | 0x20) >= 'a' && (word[i] | 0x20) <= 'z';
    return has_letter && is_digit(word[size - 1]);
}

void anon_add_host(anon_words *words, hd_string text)
{
    for (size_t at = 0; at < text.size && words->host_count < ANON_HOSTS;) {
        size_t end = is_word(text.data[at]) ? end_of_word(text, at, false) : at;
        bool is_name = end > at && (!is_public(text.data + at, end - at) || is_numbered(text.data + at, end - at));
        if (is_name) words->hosts[words->host_count++] = sip_hash(words->key, text.data + at, end - at);
        at = end + (end == at);
    }
}

bool anon_is_host_key(hd_string key)
{
    static const char *const keys[] = {"hostname", "host", "host_name", "node", "user", "username"};
    bool is = false;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) is |= hd_string_is(key, keys[i]);
    return is;
}

void anon_add_hosts_in(anon_words *words, hd_string json)
{
    bool is_value = false;
    for (size_t at = 0; at < json.size; at++) {
        if (json.data[at] != '"') {
            is_value &= json.data[at] == ':' || json.data[at] == ' ';
            continue;
        }
        size_t first = ++at;
        while (at < json.size && json.data[at] != '"') at += json.data[at] == '\\' ? 2 : 1;
        hd_string text = {json.data + first, (at < json.size ? at : json.size) - first};
        if (is_value) anon_add_host(words, text);
        is_value = anon_is_host_key(text);
    }
}

/* ---- frames ---- */

/* Where the file of a framework begins; the size: there is none. */
static size_t framework_at(hd_string text)
{
    static const char *const frameworks[] = {"torch/", "numpy/", "jax/", "jaxlib/", "tensorflow/", "triton/"};
    static const char installed[] = "-packages/";
    size_t at = 0;
    for (size_t i = 0; i + sizeof installed - 1 < text.size; i++) {
        if (memcmp(text.data + i, installed, sizeof installed - 1) == 0) at = i + sizeof installed - 1;
    }
    hd_string rest = {text.data + at, text.size - at};
    for (size_t i = 0; i < sizeof frameworks / sizeof *frameworks; i++) {
        if (hd_string_begins(rest, frameworks[i])) return at;
    }
    return text.size;
}

static bool put_frame(hd_json_out *out, const anon_words *words, hd_string text, bool names, bool escapes)
{
    size_t kept = names ? text.size : framework_at(text);
    bool changed = put_words(out, words, (hd_string){text.data, kept}, escapes);
    hd_json_put(out, text.data + kept, text.size - kept);
    return changed;
}

bool anon_put_frame(hd_json_out *out, const anon_words *words, hd_string text, bool names)
{
    return put_frame(out, words, text, names, false);
}

/* ---- JSON ---- */

bool anon_put_json(hd_json_out *out, const anon_words *words, hd_string text, bool frames)
{
    bool changed = false;
    for (size_t at = 0; at < text.size;) {
        hd_json_put(out, text.data + at, 1);
        if (text.data[at++] != '"') continue;
        size_t end = at;
        while (end < text.size && text.data[end] != '"') end += text.data[end] == '\\' ? 2 : 1;
        if (end > text.size) end = text.size;
        hd_string inside = {text.data + at, end - at};
        changed |= frames ? put_frame(out, words, inside, false, true) : put_words(out, words, inside, true);
        at = end;
        if (at < text.size) hd_json_put(out, text.data + at++, 1); /* the closing quote */
    }
    return changed;
}
