// SPDX-License-Identifier: MIT
pragma solidity 0.8.37;

/// @title A deposit address: money that arrives there can only go to one recipient.
/// @notice The recipient is a part of the code. There is no owner, no storage, no upgrade and no other way out.
/// Everyone may call `sweep`, any number of times. The caller only chooses the asset and pays the gas.
/// @dev The assembly keeps the code small, because the deployment at each deposit address costs 200 gas for each byte.
/// The proof in `proof/` is about the compiled code.
contract Forwarder {
    /// @notice Native coin was sent to the recipient. Tokens log their own `Transfer`.
    event Swept(uint256 amount);

    address private immutable RECIPIENT;

    constructor(address recipient) {
        RECIPIENT = recipient;
    }

    /// @notice Accept native coin within the 2,300 gas of a plain transfer.
    receive() external payable {}

    /// @notice Send the whole balance of an asset to the recipient. Reverts if the asset or the recipient rejects the
    /// transfer.
    /// @param token The token's contract; zero for the native coin.
    /// @dev The result of `transfer` is not read. Some tokens return nothing, and some return false after they have
    /// moved the money. With a check, those tokens would be locked here for ever.
    function sweep(address token) external {
        address recipient = RECIPIENT;
        bytes32 swept = Swept.selector;
        // The assembly may overwrite the free memory pointer at 0x40, because no later code uses memory.
        assembly {
            switch token
            case 0 {
                let amount := selfbalance()
                mstore(0, amount)
                log1(0, 0x20, swept)
                // The calls here and below copy no output, because the recipient or the token may return a lot.
                if iszero(call(gas(), recipient, amount, 0, 0, 0, 0)) { revert(0, 0) }
            }
            default {
                mstore(0, shl(224, 0x70a08231)) // balanceOf(this), into the second argument of the transfer
                mstore(0x04, address())
                if iszero(staticcall(gas(), token, 0, 0x24, 0x24, 0x20)) { revert(0, 0) }
                if lt(returndatasize(), 0x20) { revert(0, 0) } // an address without code returns nothing
                mstore(0, shl(224, 0xa9059cbb)) // transfer(recipient, balance)
                mstore(0x04, recipient)
                if iszero(call(gas(), token, 0, 0, 0x44, 0, 0)) { revert(0, 0) }
            }
        }
    }
}
