// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <stdexcept>
#include <string>

namespace compel {

/// What went wrong: the text says what was attempted on which thread or file and ends in the errno's description.
class Error : public std::runtime_error {
public:
    /// `code`: a positive errno, or 0 if no system call failed.
    Error(int code, const std::string& attempted);

    [[nodiscard]] int code() const noexcept { return code_; }

private:
    int code_;
};

/// The thread or process ended while it was being worked on.
class TraceeGone : public Error {
public:
    using Error::Error;
};

}  // namespace compel
