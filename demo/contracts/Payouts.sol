// SPDX-License-Identifier: MIT
pragma solidity ^0.8.20;

/// Pays many addresses in one transaction, like the hot wallet of an exchange.
contract Payouts {
    struct Payout {
        address payable to;
        uint256 amount;
    }

    receive() external payable {}

    /// Send a token that this contract holds. The zero address means native coin, which arrives by internal calls.
    function pay(address token, Payout[] calldata payouts) external {
        for (uint256 i = 0; i < payouts.length; ++i) {
            (address payable to, uint256 amount) = (payouts[i].to, payouts[i].amount);
            bool done;
            bytes memory result;
            if (token == address(0)) (done, ) = to.call{value: amount}("");
            else (done, result) = token.call(abi.encodeWithSignature("transfer(address,uint256)", to, amount));
            // Some tokens return nothing.
            require(done && (result.length == 0 || abi.decode(result, (bool))), "A payout failed");
        }
    }
}
