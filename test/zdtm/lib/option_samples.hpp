// SPDX-License-Identifier: GPL-2.0-only
// Sockets with changed options, one option in each. The class asks the kernel for every number of every option level.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace zdtm {

class OptionSamples {
public:
    // Raises the descriptor limit to the maximum.
    OptionSamples();

    // Makes samples of one kind of socket in one state. `make` returns such a socket, and may keep others. `heir`
    // returns the socket to check, which inherits the option from the changed one.
    void add(const std::string& kind, const std::function<int()>& make, const std::function<int(int)>& heir = {});

    // Fails with a list if an option of a sample has another value than before.
    void check() const;

    [[nodiscard]] std::size_t count() const { return samples_.size(); }

private:
    using Value = std::vector<unsigned char>;
    struct Sample {
        std::string kind;
        int socket;
        int level;
        int option;
        Value value;
    };
    static Value read(int socket, int level, int option);
    static bool change(int socket, int level, int option, Value& value);

    std::vector<Sample> samples_;
};

}  // namespace zdtm
