// SPDX-License-Identifier: GPL-2.0-only
// Sockets that have each of their options changed, one option a socket. Which options there are is found by asking the
// kernel: every number of every level that may have options.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace zdtm {

class OptionSamples {
public:
    // Raises the limit of descriptors as far as it goes.
    OptionSamples();

    // Makes samples of one kind of socket in one state. `make` makes such a socket, and may keep others. `heir` makes
    // of a changed socket the one that is looked at: it has the option from that.
    void add(const std::string& kind, const std::function<int()>& make, const std::function<int(int)>& heir = {});

    // Fails if an option of a sample has another value than it had, with a list of those.
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
