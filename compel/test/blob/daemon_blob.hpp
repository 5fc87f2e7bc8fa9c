// SPDX-License-Identifier: LGPL-2.1-only
#pragma once

#include <cstdint>

namespace daemonblob {

/// Commands that the tests send over a channel.
enum Command : std::uint32_t {
    echo,      ///< payload and descriptors come back
    argument,  ///< the channel's argument
    writeTo,   ///< writes the payload to the descriptor that comes with it
    makePipe,  ///< the descriptors of a pipe made in the process
    crash,
    leave,  ///< ends without an answer
};

}  // namespace daemonblob
