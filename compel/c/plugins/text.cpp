// SPDX-License-Identifier: LGPL-2.1-only
// Text functions for blobs: formats, numbers and comparisons.
#include "compel/c/plugins/text.hpp"

#include <compel/plugins/std.h>

namespace {

bool isDigit(char c) {
    return c >= '0' && c <= '9';
}

struct Format {
    bool zeros = false;
    int width = 0;
    int longs = 0;  ///< number of modifiers l; a z counts as one l
    char kind = '\0';
};

/// Parses a format that begins after the percent sign, and moves `text` to the end of the format.
Format takeFormat(const char*& text) {
    Format format;
    for (; *text == '0' || *text == '-' || *text == '+' || *text == '#' || *text == ' '; ++text)
        format.zeros = format.zeros || *text == '0';
    for (; isDigit(*text); ++text)
        format.width = format.width * 10 + (*text - '0');
    for (; *text == 'l' || *text == 'z'; ++text)
        ++format.longs;
    format.kind = *text;
    if (*text != '\0')
        ++text;
    return format;
}

/// Digits of a number as text. The constructor writes them from the end of the buffer to its start.
class Digits {
public:
    Digits(unsigned long value, unsigned base, bool negative) {
        do {
            *--begin_ = "0123456789abcdef"[value % base];
            value /= base;
        } while (value != 0);
        negative_ = negative;
    }

    void write(compel::c::TextOutput& out, const Format& format) const {
        const long length = (text_ + sizeof(text_)) - begin_ + (negative_ ? 1 : 0);
        if (negative_ && format.zeros)
            out.put('-');
        for (long missing = format.width - length; missing > 0; --missing)
            out.put(format.zeros ? '0' : ' ');
        if (negative_ && !format.zeros)
            out.put('-');
        for (const char* at = begin_; at != text_ + sizeof(text_); ++at)
            out.put(*at);
    }

private:
    char text_[24];
    char* begin_ = text_ + sizeof(text_);
    bool negative_;
};

void writeText(compel::c::TextOutput& out, const char* text, int width) {
    if (text == nullptr)
        text = "(null)";
    for (; *text != '\0'; ++text, --width)
        out.put(*text);
    for (; width > 0; --width)
        out.put(' ');
}

int valueOf(char c) {
    if (isDigit(c))
        return c - '0';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 10;
    return c >= 'A' && c <= 'Z' ? c - 'A' + 10 : 99;
}

}  // namespace

namespace compel::c {

TextOutput::~TextOutput() {
    flush();
}

void TextOutput::put(char c) {
    if (used_ < size_)
        buffer_[used_++] = c;
    if (used_ == size_ && fd_ >= 0)
        flush();
}

void TextOutput::flush() {
    if (fd_ < 0) {
        buffer_[used_ < size_ ? used_ : size_ - 1] = '\0';
        return;
    }
    for (unsigned long at = 0; at < used_;) {
        const long written = sys_write(fd_, buffer_ + at, used_ - at);
        if (written <= 0)
            break;
        at += static_cast<unsigned long>(written);
    }
    used_ = 0;
}

void print(TextOutput& out, const char* text, va_list* arguments) {
    while (*text != '\0') {
        if (*text != '%') {
            out.put(*text++);
            continue;
        }
        ++text;
        const Format format = takeFormat(text);
        switch (format.kind) {
            case 'd':
            case 'i': {
                const long value = format.longs > 0 ? va_arg(*arguments, long) : va_arg(*arguments, int);
                const auto positive = static_cast<unsigned long>(value);
                Digits(value < 0 ? 0 - positive : positive, 10, value < 0).write(out, format);
                break;
            }
            case 'u':
            case 'x': {
                const unsigned long value =
                    format.longs > 0 ? va_arg(*arguments, unsigned long) : va_arg(*arguments, unsigned);
                Digits(value, format.kind == 'u' ? 10 : 16, false).write(out, format);
                break;
            }
            case 'p':
                out.put('0');
                out.put('x');
                Digits(reinterpret_cast<unsigned long>(va_arg(*arguments, void*)), 16, false).write(out, format);
                break;
            case 's':
                writeText(out, va_arg(*arguments, const char*), format.width);
                break;
            case 'c':
                out.put(static_cast<char>(va_arg(*arguments, int)));
                break;
            case '%':
                out.put('%');
                break;
            default:
                writeText(out, "(unknown format)", 0);
                return;
        }
    }
}

}  // namespace compel::c

using compel::c::TextOutput;

extern "C" {

void std_dputc(int fd, char c) {
    sys_write(fd, &c, 1);
}

void std_dputs(int fd, const char* text) {
    unsigned long length = 0;
    while (text[length] != '\0')
        ++length;
    sys_write(fd, text, length);
}

void std_vdprintf(int fd, const char* format, va_list arguments) {
    char buffer[256];
    va_list copy;
    va_copy(copy, arguments);
    TextOutput out(fd, buffer, sizeof(buffer));
    compel::c::print(out, format, &copy);
    va_end(copy);
}

void std_dprintf(int fd, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    std_vdprintf(fd, format, arguments);
    va_end(arguments);
}

void std_sprintf(char* output, const char* format, ...) {
    va_list arguments;
    va_start(arguments, format);
    {
        TextOutput out(-1, output, STD_LOG_SIMPLE_CHUNK);
        compel::c::print(out, format, &arguments);
    }
    va_end(arguments);
}

int std_vprint_num(char* buffer, int size, int number, char** begin) {
    char* at = buffer + size;
    unsigned value = number < 0 ? 0u - static_cast<unsigned>(number) : static_cast<unsigned>(number);
    *--at = '\0';
    do {
        *--at = static_cast<char>('0' + value % 10);
        value /= 10;
    } while (value != 0 && at > buffer);
    if (number < 0 && at > buffer)
        *--at = '-';
    *begin = at;
    return static_cast<int>(buffer + size - at);
}

unsigned long std_strtoul(const char* text, char** end, int base) {
    const char* at = text;
    while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
        ++at;
    const bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        ++at;
    const bool hex = at[0] == '0' && (at[1] == 'x' || at[1] == 'X') && valueOf(at[2]) < 16;
    if (base == 0)
        base = hex ? 16 : (at[0] == '0' ? 8 : 10);
    if (base == 16 && hex)
        at += 2;
    unsigned long value = 0;
    const char* const digits = at;
    for (; valueOf(*at) < base; ++at)
        value = value * static_cast<unsigned long>(base) + static_cast<unsigned long>(valueOf(*at));
    if (end != nullptr)
        *end = const_cast<char*>(at == digits ? text : at);
    return negative ? 0 - value : value;
}

int std_strncmp(const char* left, const char* right, size_t count) {
    for (; count > 0; ++left, ++right, --count)
        if (*left != *right || *left == '\0')
            return static_cast<unsigned char>(*left) - static_cast<unsigned char>(*right);
    return 0;
}

int std_strcmp(const char* left, const char* right) {
    return std_strncmp(left, right, ~size_t{0});
}
}
