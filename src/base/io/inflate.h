/* inflate.h - deflate data through ISA-L, with the same output of damaged data on every processor
 *
 * After an error ISA-L's code for x86-64 counts bytes that it has not decoded, up to 258 for an impossible match, and
 * its code for other processors does not.
 */
#ifndef HD_BASE_IO_INFLATE_H
#define HD_BASE_IO_INFLATE_H

#include <isa-l/igzip_lib.h>
#include <stdbool.h>
#include <stddef.h>

/* isal_inflate(state), except that damaged data gives what was decoded from the bytes before the damage: those written
 * to next_out, then those of hd_inflate_held. `before` is room for a copy of the state. */
int hd_inflate(struct inflate_state *state, struct inflate_state *before);

/* Whether a result means damaged deflate data. A wrong checksum is not: the data ended as it should. */
bool hd_inflate_is_damage(int result);

/* Moves bytes that ISA-L has decoded ahead, and withholds after damage, to `out`; returns how many. */
size_t hd_inflate_held(struct inflate_state *state, void *out, size_t size);

#endif
