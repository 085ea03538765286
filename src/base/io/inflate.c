/* inflate.c - repeats a call that finds damage, and stops before the byte in which it is found */
#include "base/io/inflate.h"

#include <stdint.h>
#include <string.h>

/* More than ISA-L reads ahead of what it decodes. */
enum { AHEAD_BYTES = 64 };

bool hd_inflate_is_damage(int result)
{
    return result != ISAL_DECOMP_OK && result != ISAL_END_INPUT && result != ISAL_INCORRECT_CHECKSUM;
}

/* The last member is 64 KiB, little of which is used by small data. */
static void copy_state(struct inflate_state *to, const struct inflate_state *from)
{
    memcpy(to, from, offsetof(struct inflate_state, tmp_out_buffer) + (size_t)from->tmp_out_valid);
}

static int inflate_some(struct inflate_state *state, uint32_t size)
{
    state->avail_in = size;
    return isal_inflate(state);
}

/* Decodes byte by byte what comes last before `end`, and undoes the byte that fails. No damage: the output is full. */
static int stop_before_damage(struct inflate_state *state, const struct inflate_state *before, const uint8_t *end)
{
    size_t used = (size_t)(state->next_in - before->next_in);
    uint32_t whole = used > AHEAD_BYTES ? (uint32_t)used - AHEAD_BYTES : 0;
    copy_state(state, before);
    if (whole && hd_inflate_is_damage(inflate_some(state, whole))) copy_state(state, before);
    int result = ISAL_DECOMP_OK;
    state->avail_in = 0;
    while (state->next_in < end && state->avail_in == 0 && !hd_inflate_is_damage(result)) {
        uint8_t *next_out = state->next_out;
        uint32_t avail_out = state->avail_out;
        int32_t valid = state->tmp_out_valid, processed = state->tmp_out_processed;
        result = inflate_some(state, 1);
        if (!hd_inflate_is_damage(result)) continue;
        state->next_out = next_out;
        state->avail_out = avail_out;
        state->tmp_out_valid = valid;
        state->tmp_out_processed = processed;
    }
    return result;
}

int hd_inflate(struct inflate_state *state, struct inflate_state *before)
{
    const uint8_t *end = state->next_in + state->avail_in;
    copy_state(before, state);
    int result = isal_inflate(state);
    if (!hd_inflate_is_damage(result)) return result;
    int again = stop_before_damage(state, before, end);
    state->avail_in = (uint32_t)(end - state->next_in);
    return state->next_in == before->next_in && state->next_out == before->next_out ? result : again;
}

size_t hd_inflate_held(struct inflate_state *state, void *out, size_t size)
{
    size_t held = 0;
    if (state->tmp_out_valid > state->tmp_out_processed)
        held = (size_t)(state->tmp_out_valid - state->tmp_out_processed);
    if (held > size) held = size;
    memcpy(out, state->tmp_out_buffer + state->tmp_out_processed, held);
    state->tmp_out_processed += (int32_t)held;
    return held;
}
