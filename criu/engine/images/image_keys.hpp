// SPDX-License-Identifier: GPL-2.0-only
#pragma once

#include <optional>
#include <vector>

#include "criu/image/key_files.hpp"
#include "criu/options/command.hpp"

namespace criu {
class StopRequest;
}

namespace criu::model {
struct Options;
}

namespace criu::engine {

/// The keys that the options name, read where criu was started.
struct ImageKeys {
    ImageKeys() = default;
    /// Those that this command uses. Throws Error.
    ImageKeys(options::Command command, const model::Options& options, StopRequest& stop);

    /// In a child: its copy of a key that signs isn't swapped out either.
    void lock() const noexcept;

    std::vector<crypto::PublicKey> recipients;  ///< --encrypt; empty: images are as they are
    std::vector<crypto::SecretKey> identities;  ///< --decrypt
    std::optional<Signer> signer;               ///< --sign
    Signers signers;                            ///< --signed-by; empty: anybody's images are taken
};

}  // namespace criu::engine
