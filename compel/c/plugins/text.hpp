// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <stdarg.h>

namespace compel::c {

/// Output to the descriptor `fd`. With `fd` -1, writes a text into `buffer`, and cuts it off at the end of the buffer.
class TextOutput {
public:
    TextOutput(int fd, char* buffer, unsigned long size) : fd_(fd), buffer_(buffer), size_(size) {}
    ~TextOutput();
    TextOutput(const TextOutput&) = delete;
    TextOutput& operator=(const TextOutput&) = delete;

    void put(char c);

private:
    void flush();

    int fd_;
    char* buffer_;
    unsigned long size_;
    unsigned long used_ = 0;
};

void print(TextOutput& out, const char* format, va_list* arguments);

}  // namespace compel::c
