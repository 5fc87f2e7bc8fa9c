// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstdint>
#include <exception>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace compel {

/// What went wrong: what was attempted on which thread or file, errno (0 if no system call failed) and the contexts it
/// happened in. The base of all errors of libcompel, and of those of programs that want one kind of error for
/// everything. An Error that is made takes the contexts that live in its thread then (see ErrorContext).
class Error : public std::exception {
public:
    /// `code`: a positive errno, or 0 if no system call failed.
    Error(int code, std::string attempted);

    [[nodiscard]] int code() const noexcept { return code_; }

    /// Adds those contexts of the calling thread that the error hasn't got yet, for an error that was made elsewhere
    /// and is thrown again here.
    Error& addLiveContexts();
    /// Adds what the user can do about it, shown behind the message.
    Error& addHint(std::string_view hint);

    /// The contexts, outermost first, and the message: "process 7 (sleep): fd 3: open /x: Permission denied (hint)".
    [[nodiscard]] const char* what() const noexcept override { return text_.c_str(); }
    /// The same without contexts: what a new error quotes that is made where the same contexts live.
    [[nodiscard]] std::string message() const;

private:
    struct Context {
        std::string text;
        std::uint64_t id;  ///< of the ErrorContext it is from
    };
    void compose();

    int code_;
    std::string attempted_;
    std::string hint_;
    std::vector<Context> contexts_;  ///< innermost first
    std::string text_;
};

/// The thread or process ended while it was being worked on.
class TraceeGone : public Error {
public:
    using Error::Error;
};

/// What ErrorContext is when the type of its description doesn't matter: an entry in its thread's chain of contexts.
class LiveContext {
public:
    LiveContext(const LiveContext&) = delete;
    LiveContext& operator=(const LiveContext&) = delete;

protected:
    using Describe = std::string (*)(const LiveContext&);
    explicit LiveContext(Describe describe) noexcept;
    ~LiveContext();

private:
    friend class Error;
    [[nodiscard]] std::uint64_t id() const noexcept;

    Describe describe_;
    const LiveContext* outer_;
    mutable std::uint64_t id_ = 0;  ///< given when an error wants it; no two contexts of a process have the same
};

/// While it lives, every Error that its thread makes begins with what `describe` returns, in front of the contexts of
/// inner scopes:
///
///     const ErrorContext context([&] { return "process " + std::to_string(pid); });
///
/// Costs two writes as long as there is no error. `describe` runs where an error is made, that is, deep inside the
/// scope: what it refers to must be valid during all of it, and it must not take a lock that the scope holds. If it
/// throws itself, the context is left out.
///
/// Contexts belong to the thread (a new one starts without) and to scopes, never to the exception's way: an error that
/// is thrown again in another scope or thread than it was made in, such as one that a thread pool passes on, is thrown
/// by rethrow(). A forked child starts with those of its parent, see NoOuterContexts. Exceptions other than Errors get
/// none.
template <typename Description>
class [[nodiscard]] ErrorContext : private LiveContext {
public:
    explicit ErrorContext(Description describe) noexcept(std::is_nothrow_move_constructible_v<Description>)
        : LiveContext(&ErrorContext::text), description_(std::move(describe)) {}

private:
    static std::string text(const LiveContext& self) {
        return std::string(static_cast<const ErrorContext&>(self).description_());
    }

    Description description_;
};

/// While it lives, errors don't get the contexts that lived before it: for code whose errors are reported by
/// somebody else, with contexts of their own, such as that of a forked child.
class [[nodiscard]] NoOuterContexts {
public:
    NoOuterContexts() noexcept;
    ~NoOuterContexts();
    NoOuterContexts(const NoOuterContexts&) = delete;
    NoOuterContexts& operator=(const NoOuterContexts&) = delete;

private:
    const LiveContext* outer_;
};

/// As std::rethrow_exception(); an Error gets the contexts of the calling thread that it hasn't got yet.
[[noreturn]] void rethrow(std::exception_ptr failure);

}  // namespace compel
