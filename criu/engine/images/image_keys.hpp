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

/// Keys that the options name. Paths are relative to the directory that criu was started in.
struct ImageKeys {
    ImageKeys() = default;
    /// Reads the keys that this command uses. Throws Error.
    ImageKeys(options::Command command, const model::Options& options, StopRequest& stop);

    /// Locks the signing key in memory again: a child doesn't inherit memory locks.
    void lock() const noexcept;

    std::vector<crypto::PublicKey> recipients;  ///< keys of --encrypt; images aren't encrypted if empty
    std::vector<crypto::SecretKey> identities;  ///< keys of --decrypt
    std::optional<Signer> signer;               ///< key of --sign
    Signers signers;                            ///< keys of --signed-by; signatures aren't checked if empty
};

}  // namespace criu::engine
