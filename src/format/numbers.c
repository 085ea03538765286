/* numbers.c - numbers of binary formats as values of arguments, and as JSON */
#include "format/numbers.h"

#include <math.h>
#include <stdio.h>

#include "base/text/double.h"

/* The shortest decimal equal to the double, if it has at most 15 digits after the point. */
static bool short_decimal(int64_t *mantissa, unsigned *scale, double value)
{
    static const double powers[] = {1e0, 1e1, 1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                    1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    for (unsigned s = 1; s < sizeof powers / sizeof *powers; s++) {
        double scaled = value * powers[s];
        if (!(fabs(scaled) < 9007199254740992.0)) return false;
        double whole = nearbyint(scaled);
        if (whole / powers[s] != value || (whole == 0 && signbit(value))) continue; /* -0.0 has no mantissa */
        *mantissa = (int64_t)whole;
        *scale = s;
        return true;
    }
    return false;
}

void hd_json_put_double(hd_json_out *out, double value)
{
    int64_t mantissa;
    unsigned scale;
    char text[40];
    if (isnan(value)) {
        hd_json_put_text(out, "\"NaN\"");
    } else if (isinf(value)) {
        hd_json_put_text(out, value < 0 ? "\"-Infinity\"" : "\"Infinity\"");
    } else if (short_decimal(&mantissa, &scale, value)) {
        hd_json_put_decimal(out, mantissa, scale);
    } else {
        hd_double_text(text, value);
        hd_json_put_text(out, text);
    }
}

hd_arg_type hd_value_of_double(int64_t *out_bits, hd_builder *builder, double value)
{
    int64_t mantissa;
    unsigned scale;
    char text[40];
    if (isnan(value) || isinf(value)) { /* JSON has no number for these */
        *out_bits = hd_builder_intern_text(builder, isnan(value) ? "NaN" : value < 0 ? "-Infinity" : "Infinity");
        return HD_ARG_STRING;
    }
    if (short_decimal(&mantissa, &scale, value)) {
        *out_bits = hd_decimal_pack(mantissa, scale);
        return HD_ARG_DECIMAL;
    }
    hd_double_text(text, value);
    *out_bits = hd_builder_intern_text(builder, text);
    return HD_ARG_NUMBER;
}

void hd_json_put_unsigned(hd_json_out *out, uint64_t value)
{
    char text[24];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    hd_json_put_text(out, text);
}

hd_arg_type hd_value_of_unsigned(int64_t *out_bits, hd_builder *builder, uint64_t value)
{
    char text[24];
    *out_bits = (int64_t)value;
    if (value <= INT64_MAX) return HD_ARG_INT;
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    *out_bits = hd_builder_intern_text(builder, text);
    return HD_ARG_NUMBER;
}

void hd_json_put_value(hd_json_out *out, const hd_builder *builder, hd_value value)
{
    hd_string text = {"", 0};
    if (value.type >= HD_ARG_NUMBER) text = hd_builder_string(builder, (uint32_t)value.bits);
    switch (value.type) {
    case HD_ARG_BOOL: hd_json_put_text(out, value.bits ? "true" : "false"); break;
    case HD_ARG_INT: hd_json_put_int(out, value.bits); break;
    case HD_ARG_DECIMAL: hd_json_put_decimal(out, hd_decimal_mantissa(value.bits), hd_decimal_scale(value.bits)); break;
    case HD_ARG_STRING: hd_json_put_string(out, text.data, text.size); break;
    case HD_ARG_NUMBER:
    case HD_ARG_JSON: hd_json_put(out, text.data, text.size); break;
    default: hd_json_put_text(out, "null"); break;
    }
}
