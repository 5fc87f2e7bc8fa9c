// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <cerrno>
#include <exception>
#include <source_location>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace criu {

/// A format string that remembers where it was written, so that errors and log lines name their origin
/// without macros. Converts implicitly from a string literal.
template <typename... Args>
struct LocatedFormat {
    fmt::format_string<Args...> text;
    std::source_location where;

    template <typename T>
    consteval LocatedFormat(const T& literal, std::source_location at = std::source_location::current())
        : text(literal), where(at) {}
};

template <typename... Args>
using Located = LocatedFormat<std::type_identity_t<Args>...>;

/// What went wrong: what was attempted, errno (0 if no system call failed) and the chain of circumstances, outermost
/// last added. Thrown where the failure is seen, caught where a phase ends, logged there once.
class Error : public std::exception {
public:
    Error(int code, std::string attempted, std::source_location where = std::source_location::current());

    /// errno value of the failed call; 0 when the failure isn't one of a system call.
    [[nodiscard]] int code() const noexcept { return code_; }
    [[nodiscard]] const std::source_location& where() const noexcept { return where_; }

    /// Adds a circumstance in front: "pid 7" makes "pid 7: open /x: Permission denied".
    Error& addContext(std::string_view context);

    /// Adds what the user can do about it, shown behind the message.
    Error& addHint(std::string_view hint);

    /// contexts: attempted: strerror (hint)
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }

private:
    void compose();

    int code_;
    std::source_location where_;
    std::string attempted_;
    std::string hint_;
    std::vector<std::string> contexts_;
    std::string text_;
};

/// Throws an Error that is not about a system call.
template <typename... Args>
[[noreturn]] void fail(Located<Args...> format, Args&&... args) {
    throw Error(0, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

/// Throws an Error with the given errno value (positive).
template <typename... Args>
[[noreturn]] void failWith(int code, Located<Args...> format, Args&&... args) {
    throw Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

/// Throws an Error with the current errno.
template <typename... Args>
[[noreturn]] void failErrno(Located<Args...> format, Args&&... args) {
    const int code = errno;
    throw Error(code, fmt::format(format.text, std::forward<Args>(args)...), format.where);
}

/// Passes a system call's result through; negative results become an Error with errno.
/// `sys(::open(p, O_RDONLY), "open {}", p)`
template <typename R, typename... Args>
R sys(R result, Located<Args...> format, Args&&... args) {
    if (result < 0)
        failErrno<Args...>(format, std::forward<Args>(args)...);
    return result;
}

/// Runs `body`; an Error that leaves it gets `describe()` as its context. `describe` runs only then.
template <typename Describe, typename Body>
decltype(auto) inContext(Describe&& describe, Body&& body) {
    try {
        return std::forward<Body>(body)();
    } catch (Error& error) {
        error.addContext(describe());
        throw;
    }
}

/// Path of a source file relative to the source tree's root, as log lines show it.
std::string_view sourceName(const std::source_location& where) noexcept;

}  // namespace criu
