/* double.h - a double -> the shortest text that reads back as the same double */
#ifndef HD_BASE_TEXT_DOUBLE_H
#define HD_BASE_TEXT_DOUBLE_H

enum { HD_DOUBLE_BYTES = 32 };

/* The first of 15, 16 and 17 digits that is the same double again, as %g writes it, with a point in every locale. Not
 * of NaN and the infinities, which are "nan" and "inf". Returns out. */
const char *hd_double_text(char out[HD_DOUBLE_BYTES], double value);

#endif
