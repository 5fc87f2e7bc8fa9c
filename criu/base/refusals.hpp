// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace criu {

class JsonWriter;
class StopRequest;

/// Reason why something isn't possible, and what the user can do.
struct Refusal {
    std::string reason;  ///< text with all contexts
    std::string remedy;  ///< hint of the error; empty if it has none

    /// Returns the exception that the caller handles.
    [[nodiscard]] static Refusal current();
    /// Returns reason and remedy in one line.
    [[nodiscard]] std::string text() const;
    /// Adds both texts to the current object of a document.
    void addTo(JsonWriter& out) const;
};

/// Adds a list of objects to a document.
void addList(JsonWriter& out, std::string_view key, const std::vector<Refusal>& refusals);

/// Errors of independent checks. Usually the first error ends the command. After collect(), the object stores the
/// errors, so that one dry run reports all of them. One thread at a time may use the object.
class Refusals {
public:
    /// Makes attempt() collect errors. `stop`: stop request, whose error ends the command in any case.
    void collect(StopRequest& stop) noexcept { stop_ = &stop; }
    [[nodiscard]] bool collects() const noexcept { return stop_ != nullptr; }

    /// Runs `check`. Returns true if it succeeded. If it throws, adds the error and returns false; without collect(),
    /// passes the exception on.
    template <typename Check>
    bool attempt(Check&& check) {
        if (!collects()) {
            std::forward<Check>(check)();
            return true;
        }
        try {
            std::forward<Check>(check)();
            return true;
        } catch (...) {
            addCurrent();
            return false;
        }
    }

    void add(Refusal refusal) { all_.push_back(std::move(refusal)); }
    [[nodiscard]] const std::vector<Refusal>& all() const noexcept { return all_; }

private:
    /// Adds the exception that the caller handles, or throws it again after a stop request.
    void addCurrent();

    StopRequest* stop_ = nullptr;
    std::vector<Refusal> all_;
};

}  // namespace criu
