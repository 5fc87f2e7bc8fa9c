// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstdint>

namespace daemonblob {

/// Commands that the tests send over a channel.
enum Command : std::uint32_t {
    echo,      ///< replies with the payload and the descriptors of the command
    argument,  ///< replies with the argument of the channel
    writeTo,   ///< writes the payload to the descriptor of the command
    makePipe,  ///< makes a pipe in the process and replies with its descriptors
    crash,
    leave,  ///< ends the blob without a reply
};

}  // namespace daemonblob
