// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <stdarg.h>

namespace compel::c {

/// Output to a descriptor, or into a text that is cut off at the buffer's end (fd -1).
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
