// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace criu {

/// Arguments in the form that execve(2) needs: an array of pointers to strings, with a null pointer at the end.
class ArgumentVector {
public:
    explicit ArgumentVector(std::vector<std::string> words) : words_(std::move(words)) {
        pointers_.reserve(words_.size() + 1);
        for (std::string& word : words_)
            pointers_.push_back(word.data());
        pointers_.push_back(nullptr);
    }
    ArgumentVector(const ArgumentVector&) = delete;
    ArgumentVector& operator=(const ArgumentVector&) = delete;

    [[nodiscard]] int count() const noexcept { return static_cast<int>(words_.size()); }
    [[nodiscard]] char* const* data() const noexcept { return pointers_.data(); }
    /// Returns the pointers for getopt(3), which changes their order.
    [[nodiscard]] char** data() noexcept { return pointers_.data(); }

private:
    std::vector<std::string> words_;
    std::vector<char*> pointers_;
};

}  // namespace criu
