// SPDX-License-Identifier: LGPL-2.1-only
#include <compel/error.hpp>

#include <algorithm>
#include <atomic>
#include <iterator>
#include <system_error>

namespace compel {
namespace {

/// Innermost context of the calling thread; null without contexts.
constinit thread_local const LiveContext* innermost = nullptr;

}  // namespace

Error::Error(int code, std::string attempted) : code_(code), attempted_(std::move(attempted)) {
    addLiveContexts();
}

Error& Error::addLiveContexts() {
    const LiveContext* context = innermost;
    const NoOuterContexts none;  // prevents recursion if a description creates an error
    for (; context != nullptr; context = context->outer_) {
        const std::uint64_t id = context->id();
        if (std::any_of(contexts_.begin(), contexts_.end(), [&](const Context& known) { return known.id == id; }))
            continue;
        try {
            contexts_.push_back({context->describe_(*context), id});
        } catch (const std::exception&) {
            continue;  // the error gets one context less
        }
    }
    compose();
    return *this;
}

Error& Error::addHint(std::string_view hint) {
    hint_ = hint;
    compose();
    return *this;
}

/// Returns the contexts from the outermost to the innermost, each with a colon behind it. Omits the innermost one if
/// the failed action begins with the same words, such as a path.
std::string Error::contexts() const {
    std::string text;
    for (auto context = contexts_.rbegin(); context != contexts_.rend(); ++context) {
        const bool repeated = std::next(context) == contexts_.rend() && attempted_.starts_with(context->text + " ");
        if (!repeated)
            text.append(context->text).append(": ");
    }
    return text;
}

/// Returns the failed action and its errno as text.
std::string Error::failure() const {
    return code_ == 0 ? attempted_ : attempted_ + ": " + std::generic_category().message(code_);
}

std::string Error::message() const {
    return hint_.empty() ? failure() : failure() + " (" + hint_ + ")";
}

std::string Error::reason() const {
    return contexts() + failure();
}

void Error::compose() {
    text_ = contexts() + message();
}

LiveContext::LiveContext(Describe describe) noexcept : describe_(describe), outer_(innermost) {
    innermost = this;
}

LiveContext::~LiveContext() {
    innermost = outer_;
}

std::uint64_t LiveContext::id() const noexcept {
    static std::atomic<std::uint64_t> last{0};
    if (id_ == 0)
        id_ = ++last;
    return id_;
}

NoOuterContexts::NoOuterContexts() noexcept : outer_(innermost) {
    innermost = nullptr;
}

NoOuterContexts::~NoOuterContexts() {
    innermost = outer_;
}

void rethrow(std::exception_ptr failure) {
    try {
        std::rethrow_exception(std::move(failure));
    } catch (Error& error) {
        error.addLiveContexts();
        throw;
    }
}

}  // namespace compel
